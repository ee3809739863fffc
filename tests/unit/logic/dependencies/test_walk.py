"""The walk over the reaction map: the cases docs/contrail.md ★1, ★1b and the examples of C.4, each (intent, cause)
once."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from intentc.logic.dependencies import DependencyProcessor, Path, load
from intentc.model import Key


class Drawing:
    """A graph drawn by hand: lines between ``kind/name`` and ``kind/name``."""

    def __init__(self, lines: Iterable[tuple[str, str]]) -> None:
        self._lines: dict[Key, set[Key]] = {}
        for one, other in lines:
            self._lines.setdefault(key(one), set()).add(key(other))
            self._lines.setdefault(key(other), set()).add(key(one))

    def related(self, key: Key, kind: str) -> list[Key]:
        return [other for other in self._lines.get(key, ()) if other.kind == kind]

    def all(self, kind: str) -> list[Key]:
        return [key for key in self._lines if key.kind == kind]


def key(text: str) -> Key:
    kind, _, name = text.partition("/")
    return Key(kind, name)


def walk(reactions: str, lines: Iterable[tuple[str, str]], *origins: str) -> dict[Key, Path]:
    return DependencyProcessor(load(reactions), Drawing(lines)).walk(map(key, origins))


def reached(reactions: str, lines: Iterable[tuple[str, str]], *origins: str) -> set[str]:
    return {str(found) for found in walk(reactions, lines, *origins)}


STAR_1 = """\
intent-compiler:
  virtual_network:
    self: [network_policy, route_table, virtual_network]
  network_policy:
    network_policy: [virtual_network]
    virtual_network: [virtual_network, network_policy, service_instance]
"""


def test_star_1_networks_are_reached_through_the_policies_that_they_share() -> None:
    lines = [
        ("virtual_network/1", "network_policy/1"),
        ("virtual_network/1", "network_policy/2"),
        ("virtual_network/2", "network_policy/2"),
    ]
    assert reached(STAR_1, lines, "virtual_network/1") == {
        "virtual_network/1",
        "virtual_network/2",
        "network_policy/1",
        "network_policy/2",
    }


def test_star_1b_the_walk_stops_where_the_map_does() -> None:
    reactions = """\
intent-compiler:
  red: {self: [blue, green]}
  blue: {self: [], red: []}
  green: {self: [], red: []}
"""
    lines = [("red/r", "blue/b"), ("red/r", "green/g"), ("blue/b", "green/far")]
    assert reached(reactions, lines, "red/r") == {"red/r", "blue/b", "green/g"}


def test_star_1b_a_chain_that_leads_back_ends() -> None:
    reactions = """\
intent-compiler:
  blue: {self: [green]}
  green: {blue: [white], red: []}
  white: {green: [purple]}
  purple: {white: [blue]}
"""
    lines = [
        ("blue/b", "green/g0"),
        ("blue/b", "green/g1"),
        ("green/g0", "white/w"),
        ("white/w", "purple/p"),
        ("purple/p", "blue/b"),
    ]
    assert reached(reactions, lines, "blue/b") == {"blue/b", "green/g0", "green/g1", "white/w", "purple/p"}


def test_a_second_cause_goes_on_where_the_first_one_stopped() -> None:
    reactions = """\
intent-compiler:
  red: {self: [green, blue]}
  green: {red: [], blue: [white]}
  blue: {red: [green]}
"""
    lines = [("red/r", "green/g"), ("red/r", "blue/b"), ("blue/b", "green/g"), ("green/g", "white/w")]
    assert "white/w" in reached(reactions, lines, "red/r")


def test_a_cycle_of_reactions_ends() -> None:
    reactions = "intent-compiler:\n  red: {self: [red], red: [red]}\n"
    lines = [("red/1", "red/2"), ("red/2", "red/3"), ("red/3", "red/1")]
    assert reached(reactions, lines, "red/1") == {"red/1", "red/2", "red/3"}


def test_each_intent_comes_with_its_path_from_the_origin() -> None:
    lines = [("virtual_network/1", "network_policy/2"), ("virtual_network/2", "network_policy/2")]
    paths = walk(STAR_1, lines, "virtual_network/1")
    assert [str(step) for step in paths[key("virtual_network/2")]] == [
        "virtual_network/1",
        "network_policy/2",
        "virtual_network/2",
    ]
    assert paths[key("virtual_network/1")] == (key("virtual_network/1"),)


def test_the_path_does_not_depend_on_the_order_of_sets() -> None:
    lines = [("virtual_network/1", f"network_policy/{n}") for n in range(20)]
    lines += [("virtual_network/2", f"network_policy/{n}") for n in range(20)]
    path = walk(STAR_1, lines, "virtual_network/1")[key("virtual_network/2")]
    assert path[1] == key("network_policy/0")


def test_all_reaches_objects_that_are_not_related() -> None:
    reactions = "intent-compiler:\n  global: {self: [all: net]}\n  net: {global: [port]}\n"
    lines = [("net/1", "port/1"), ("net/2", "port/2")]
    assert reached(reactions, lines, "global/g") == {"global/g", "net/1", "net/2", "port/1", "port/2"}


C_3 = """\
intent-compiler:
  virtual-machine-interface:
    self: [virtual-machine, port-tuple, virtual-network, bgp-as-a-service]
    virtual-network: [virtual-machine, port-tuple, bgp-as-a-service]
    logical-router: [virtual-network]
    floating-ip: [virtual-machine, port-tuple]
    virtual-machine: [virtual-network]
  virtual-network:
    self: [network-policy, route-table, virtual-network]
    routing-instance: [network-policy]
    virtual-network: []
    network-policy: []
    virtual-machine-interface: []
    route-table: []
    bgpvpn: []
  virtual-machine:
    self: [service-instance]
    virtual-machine-interface: [service-instance]
    service-instance: [virtual-machine-interface]
  service-instance:
    self: [network-policy, virtual-machine, port-tuple]
    route-table: [network-policy, virtual-machine, port-tuple]
    virtual-machine: [network-policy]
    network-policy: [virtual-machine, port-tuple]
  network-policy:
    self: [security-logging-object, virtual-network, network-policy, service-instance]
    service-instance: [virtual-network]
    network-policy: [virtual-network]
    virtual-network: [virtual-network, network-policy, service-instance]
  security-group:
    self: [security-group, security-logging-object]
    security-group: []
  security-logging-object: {security-group: []}
  route-table:
    self: [virtual-network, service-instance, logical-router]
    virtual-network: [service-instance]
    logical-router: [service-instance]
  logical-router:
    self: [route-table]
    bgpvpn: []
  floating-ip: {self: [virtual-machine-interface]}
  bgpvpn: {self: [virtual-network, logical-router]}
  global-system-config: {self: []}
"""

NETWORK, POLICY, PORT = "virtual_network", "network_policy", "virtual_machine_interface"
ROUTER, ROUTES, GROUP = "logical_router", "route_table", "security_group"

SETTING = [
    (f"{NETWORK}/a", f"{POLICY}/p"),
    (f"{NETWORK}/b", f"{POLICY}/p"),
    (f"{POLICY}/p", "service_instance/s"),
    ("service_instance/s", "virtual_machine/m"),
    (f"{PORT}/i", "virtual_machine/m"),
    (f"{PORT}/i", f"{NETWORK}/a"),
    ("floating_ip/f", f"{PORT}/i"),
    (f"{ROUTER}/l", f"{PORT}/j"),
    (f"{PORT}/j", f"{NETWORK}/a"),
    (f"{ROUTES}/t", f"{NETWORK}/a"),
    (f"{ROUTES}/t", f"{ROUTER}/l"),
    (f"{ROUTES}/t", "service_instance/s"),
]
"""The spec's: networks a and b attach policy p, which names service s with machine m behind port i in a; a floating ip
f on i; router l with port j in a; routes t on a and l with next hop s."""

CHAIN = {"service_instance/s", f"{POLICY}/p", f"{NETWORK}/a", f"{NETWORK}/b"}


@pytest.mark.parametrize(
    ("origin", "others"),
    [
        ("floating_ip/f", {f"{PORT}/i", "virtual_machine/m"} | CHAIN),
        (f"{ROUTER}/l", {f"{ROUTES}/t", "virtual_machine/m", f"{PORT}/i"} | CHAIN),
        (f"{NETWORK}/a", {f"{ROUTES}/t", "virtual_machine/m", f"{PORT}/i"} | CHAIN),
    ],
    ids=["1 floating ip created", "2 router gets a port", "3 policies of a network change"],
)
def test_worked_examples_of_c4(origin: str, others: set[str]) -> None:
    assert reached(C_3, SETTING, origin) == {origin} | others


def test_worked_example_4_a_group_reaches_those_that_mention_it_and_no_further() -> None:
    lines = [
        (f"{GROUP}/x", f"{GROUP}/mentions-x"),
        (f"{GROUP}/mentions-x", f"{GROUP}/mentions-that"),
        (f"{GROUP}/x", "security_logging_object/o"),
    ]
    assert reached(C_3, lines, f"{GROUP}/x") == {f"{GROUP}/x", f"{GROUP}/mentions-x", "security_logging_object/o"}


def test_worked_example_5_a_vpn_reaches_its_networks_and_routers_and_no_further() -> None:
    lines = [("bgpvpn/v", f"{NETWORK}/a"), ("bgpvpn/v", f"{ROUTER}/l"), *SETTING]
    assert reached(C_3, lines, "bgpvpn/v") == {"bgpvpn/v", f"{NETWORK}/a", f"{ROUTER}/l"}


def test_worked_example_6_the_global_configuration_reaches_only_itself() -> None:
    assert reached(C_3, SETTING, "global_system_config/g") == {"global_system_config/g"}
