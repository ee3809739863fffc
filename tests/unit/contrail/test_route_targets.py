"""Route targets of networks and routers (docs/contrail.md D.1, D.7); golden pairs show who has which."""

from __future__ import annotations

from ipaddress import IPv4Address
from itertools import permutations
from typing import Any

import pytest

from intentc.compilers.contrail.route_targets import parse_route_target, united
from tests.unit.contrail.tenant import Tenant, references


def test_with_an_address() -> None:
    assert parse_route_target("target:10.0.0.1:100") == (IPv4Address("10.0.0.1"), 100)


def test_with_an_autonomous_system() -> None:
    assert parse_route_target("target:64512:8000100") == (64512, 8000100)


@pytest.mark.parametrize(
    "text",
    [
        "goal:64512:100",
        "target::100",
        "target:text:100",
        "target:9223372036854775808:100",
        "target:64512:9223372036854775808",
        "target::text",
        "target",
        "target:10.0.0.256:1",
        "target:64512:1:2",
        "target:64512:-1",
        " target:64512:1",
        "",
    ],
)
def test_malformed_ones_are_rejected(text: Any) -> None:
    with pytest.raises(ValueError, match="route target"):
        parse_route_target(text)


A, B, C = "target:1:1", "target:2:1", "target:3:1"


@pytest.mark.parametrize(
    ("both", "imported", "exported", "expected"),
    [
        ([A], [C], [B], {A: "", B: "export", C: "import"}),
        ([], [A], [A], {A: ""}),
        ([A], [A], [], {A: ""}),
        ([A], [], [A], {A: ""}),
        ([A], [A, B], [A, B], {A: "", B: ""}),
        ([], [], [], {}),
    ],
)
def test_what_is_imported_and_exported_is_both(both: Any, imported: Any, exported: Any, expected: Any) -> None:
    lists = [dict.fromkeys(both, ""), dict.fromkeys(imported, "import"), dict.fromkeys(exported, "export")]
    for order in permutations(lists):
        assert list(united(*order).items()) == list(expected.items())


def test_which_targets_are_automatic_follows_the_autonomous_system() -> None:
    tenant = Tenant()
    tenant.put("global_system_config", "default-global-system-config", autonomous_system=4200000000)
    mine = ["target:64512:8000100", "target:4200000000:7999", "target:4200000000:32768"]
    network, _ = tenant.network("vn", route_target_list=[*mine, "target:4200000000:8000", "target:4200000000:32767"])
    outcome = tenant.run(network)
    assert sorted(target for _, target, _ in references(outcome)) == sorted(mine)
    assert len(outcome.problems) == 2


def test_a_network_without_lists_does_not_ask_for_the_autonomous_system() -> None:
    tenant = Tenant()
    network, _ = tenant.network("vn")
    assert not [read for read in tenant.run(network).reads if "global_system_config" in read]


def test_nothing_else_of_a_network_matters() -> None:
    """docs/contrail.md D.15: the rest of its properties reaches no routing instance."""
    tenant = Tenant()
    tenant.network("vn")
    properties = {"forwarding_mode": "l3", "rpf": "disable", "mirror_destination": True, "allow_transit": True}
    network = tenant.below(
        "virtual_network", "vn", port_security_enabled=False, virtual_network_properties=properties, is_shared=True
    )
    assert tenant.run(network).claims == ()


OWN = "target:64512:8000100"


def internal(tenant: Tenant, **lists: list[str]) -> dict[str, Any]:
    """The reference to the internal network, as the API server makes both in vxlan mode."""
    network, _ = tenant.network("internal", **lists)
    attribute = {"logical_router_virtual_network_type": "InternalVirtualNetwork"}
    return {"uuid": network.uuid, "attr": attribute}


def test_in_snat_mode_an_internal_network_gets_nothing() -> None:
    tenant = Tenant()
    router = tenant.router("lr", virtual_network_refs=[internal(tenant)])
    tenant.number(router, 8000100)
    assert references(tenant.run(router)) == {("lr", OWN, "")}
