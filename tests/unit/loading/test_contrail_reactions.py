"""The shipped reaction map of Contrail against docs/contrail.md C.3, written down here a second time."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.loading import load_yaml
from intentc.loading.paths import reactions_directory
from intentc.model.schema import Schema, relations_of

# The union of the Python and the Go map: kind/cause: visited kinds.
ANCESTORS = """
routing_instance/self: virtual_network
virtual_machine_interface/self: virtual_machine port_tuple virtual_network bgp_as_a_service
virtual_machine_interface/virtual_network: virtual_machine port_tuple bgp_as_a_service
virtual_machine_interface/logical_router: virtual_network
virtual_machine_interface/instance_ip: virtual_machine port_tuple bgp_as_a_service virtual_network
virtual_machine_interface/floating_ip: virtual_machine port_tuple
virtual_machine_interface/alias_ip: virtual_machine port_tuple
virtual_machine_interface/virtual_machine: virtual_network
virtual_machine_interface/port_tuple: virtual_network
virtual_machine_interface/bgp_as_a_service:
virtual_network/self: network_policy route_table virtual_network
virtual_network/routing_instance: network_policy
virtual_network/virtual_network:
virtual_network/network_policy:
virtual_network/virtual_machine_interface:
virtual_network/route_table:
virtual_network/bgpvpn:
virtual_network/routing_policy:
virtual_machine/self: service_instance
virtual_machine/virtual_machine_interface: service_instance
virtual_machine/service_instance: virtual_machine_interface
port_tuple/self: service_instance
port_tuple/virtual_machine_interface: service_instance
port_tuple/service_instance: virtual_machine_interface
service_instance/self: network_policy virtual_machine port_tuple
service_instance/route_table: network_policy virtual_machine port_tuple
service_instance/routing_policy: network_policy
service_instance/route_aggregate: network_policy
service_instance/virtual_machine: network_policy
service_instance/port_tuple: network_policy
service_instance/network_policy: virtual_machine port_tuple
network_policy/self: security_logging_object virtual_network network_policy service_instance
network_policy/service_instance: virtual_network
network_policy/network_policy: virtual_network
network_policy/virtual_network: virtual_network network_policy service_instance
security_group/self: security_group security_logging_object
security_group/security_group:
security_logging_object/self:
security_logging_object/network_policy:
security_logging_object/security_group:
route_table/self: virtual_network service_instance logical_router
route_table/virtual_network: service_instance
route_table/logical_router: service_instance
logical_router/self: route_table
logical_router/virtual_machine_interface:
logical_router/route_table:
logical_router/bgpvpn:
floating_ip/self: virtual_machine_interface
alias_ip/self: virtual_machine_interface
instance_ip/self: virtual_machine_interface
bgp_as_a_service/self: bgp_router
bgp_as_a_service/virtual_machine_interface: bgp_router
bgp_router/self:
bgp_router/bgp_as_a_service:
bgp_router/physical_router:
physical_router/self: bgp_router
global_system_config/self:
routing_policy/self: service_instance virtual_network
route_aggregate/self: service_instance
bgpvpn/self: virtual_network logical_router
bgpvpn/virtual_network:
bgpvpn/logical_router:
"""


def table(text: str) -> dict[tuple[str, str], list[str]]:
    found = {}
    for line in text.strip().splitlines():
        left, _, right = line.partition(":")
        kind, _, cause = left.partition("/")
        found[kind, cause] = right.split()
    return found


@pytest.fixture
def reactions() -> dict[tuple[str, str], list[str]]:
    """The shipped map: (kind, cause) → visited kinds; ``{all: kind}`` as ``all:kind``."""
    value: Any = load_yaml(reactions_directory() / "contrail.yml").value
    assert list(value) == ["intent-compiler"]
    return {
        (kind, cause): [entry if isinstance(entry, str) else f"all:{entry['all']}" for entry in visited]
        for kind, causes in value["intent-compiler"].items()
        for cause, visited in causes.items()
    }


def test_the_ancestors_map_is_in_it_whole(reactions: dict[tuple[str, str], list[str]]) -> None:
    ancestors = table(ANCESTORS)

    assert len(ancestors) == 62
    assert sum(map(len, ancestors.values())) == 69
    for at, visited in ancestors.items():
        assert reactions[at][: len(visited)] == visited, at


def test_every_visited_kind_says_where_the_walk_goes_from_there(reactions: dict[tuple[str, str], list[str]]) -> None:
    for (kind, _), visited in reactions.items():
        for entry in visited:
            assert (entry.removeprefix("all:"), kind) in reactions


def test_visited_kinds_are_neighbours_by_the_schema(
    reactions: dict[tuple[str, str], list[str]], contrail: Schema
) -> None:
    pairs = {(kind.name, target) for kind in contrail for target, _ in relations_of(kind)}
    for (kind, cause), visited in reactions.items():
        for entry in visited:
            if not entry.startswith("all:"):
                assert (kind, entry) in pairs or (entry, kind) in pairs, (kind, cause, entry)
