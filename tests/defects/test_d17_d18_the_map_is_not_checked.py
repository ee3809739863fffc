"""D17: the Go ancestor does not check its map: reactions that end in silence, kinds without an entry, states that
nothing reaches. D18: the Python ancestor visits a resource once, whatever the cause, and stops at a missing
reference."""

from __future__ import annotations

import pytest

from intentc.loading.paths import reactions_file
from intentc.logic.dependencies import DependencyProcessor, findings, load
from intentc.model import Key
from tests.simulation.simulated_system import LOADED

ANCESTOR = """\
intent-compiler:
  virtual_network:
    self: [network_policy, virtual_machine_interface]
    bgp_router: []
  network_policy:
    self: [security_logging_object]
  virtual_machine_interface:
    logical_router: [virtual_network]
"""
"""What was wrong with its map, in small: the walk ends in silence at policies, interfaces and objects that log; the
last entry is reached by nothing."""


def reasons(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for finding in findings(load(text), LOADED.schema):
        found.setdefault(finding.reason, []).append(finding.message)
    return found


def test_d17_a_reaction_whose_target_says_nothing_about_the_cause_is_found() -> None:
    stops = reasons(ANCESTOR)["SilentStop"]
    assert any("network_policy, which says nothing about the cause virtual_network" in message for message in stops)
    assert any("virtual_machine_interface, which says nothing" in message for message in stops)


def test_d17_a_target_kind_without_any_entry_is_found() -> None:
    stops = reasons(ANCESTOR)["SilentStop"]
    assert any("security_logging_object, which says nothing" in message for message in stops)


def test_d17_a_state_that_no_event_can_reach_is_found() -> None:
    unreachable = reasons(ANCESTOR)["Unreachable"]
    assert any("virtual_machine_interface by the cause logical_router" in message for message in unreachable)


def test_d17_a_cycle_over_kind_and_cause_is_found_and_shown() -> None:
    text = "intent-compiler:\n  network_policy:\n    self: [virtual_network]\n    virtual_network: [virtual_network]\n"
    text += "  virtual_network:\n    network_policy: [network_policy]\n"
    (cycle,) = reasons(text)["Cycle"]
    assert "network_policy (from virtual_network)" in cycle


def test_d17_the_shipped_map_has_nothing_to_warn_of() -> None:
    shipped = findings(load(reactions_file("contrail")), LOADED.schema)
    assert [finding for finding in shipped if finding.severity != "note"] == []


class Graph:
    """Lines between ``kind/name`` and ``kind/name``."""

    def __init__(self, *lines: tuple[Key, Key]) -> None:
        self._lines = [*lines, *((other, one) for one, other in lines)]

    def related(self, key: Key, kind: str) -> list[Key]:
        return [other for one, other in self._lines if one == key and other.kind == kind]

    def all(self, kind: str) -> list[Key]:
        return sorted({key for key, _ in self._lines if key.kind == kind})


A, B, C, D = Key("a", "1"), Key("b", "1"), Key("c", "1"), Key("d", "1")
DIAMOND = """\
intent-compiler:
  a: {self: [b, c]}
  b: {a: [c]}
  c:
    a: []
    b: [d]
  d: {c: []}
"""


def test_d18_the_walk_continues_from_a_resource_reached_by_another_cause() -> None:
    """c is reached from a first, where the walk ends; from b it goes on to d."""
    walk = DependencyProcessor(load(DIAMOND), Graph((A, B), (A, C), (B, C), (C, D))).walk([A])
    assert walk.keys() == {A, B, C, D}
    assert walk[D] == (A, B, C, D)


@pytest.mark.parametrize("missing", [B, C])
def test_d18_a_reference_whose_target_is_missing_ends_no_other_branch(missing: Key) -> None:
    lines = [(A, B), (A, C), (B, D), (C, D)]
    text = "intent-compiler:\n  a: {self: [b, c]}\n  b: {a: [d]}\n  c: {a: [d]}\n  d: {b: [], c: []}\n"
    graph = Graph(*(line for line in lines if missing not in line))
    assert D in DependencyProcessor(load(text), graph).walk([A])
