"""The findings about a reaction map before anything runs."""

from __future__ import annotations

import re

import pytest

from intentc.logic.dependencies import Finding, findings, load
from intentc.logic.dependencies.map_check import layers
from tests.support.toy_kinds import toy_schema

SOUND = """\
intent-compiler:
  net:
    self: [policy]
    policy: []
  policy:
    self: [net]
    net: []
"""


def found(text: str) -> list[Finding]:
    return findings(load(text), toy_schema())


def reasons(text: str) -> list[tuple[str, str]]:
    return [(finding.reason, finding.source.rpartition(":")[2]) for finding in found(text)]


def test_a_sound_map_has_no_findings() -> None:
    assert found(SOUND) == []


def test_an_unknown_kind_is_an_error_with_a_suggestion() -> None:
    (finding, *_) = found("intent-compiler:\n  net:\n    self: [polcy]\n")
    assert (finding.severity, finding.reason) == ("error", "UnknownKind")
    assert finding.source.endswith(":3")
    assert "did you mean policy?" in finding.message


def test_an_unknown_cause_is_an_error() -> None:
    assert ("UnknownKind", "4") in reasons("intent-compiler:\n  net:\n    self: []\n    slf: []\n")


def test_a_walk_that_ends_without_an_entry_is_found() -> None:
    assert reasons("intent-compiler:\n  net:\n    self: [policy]\n  policy:\n    self: []\n") == [("SilentStop", "3")]


def test_an_entry_that_no_change_reaches_is_found() -> None:
    assert reasons("intent-compiler:\n  net:\n    self: []\n    port: []\n") == [("Unreachable", "4")]


def test_kinds_without_a_relation_are_found() -> None:
    text = "intent-compiler:\n  policy:\n    self: [group]\n  group:\n    policy: []\n"
    assert reasons(text) == [("NoRelation", "3")]


def test_everyone_of_a_kind_needs_no_relation() -> None:
    assert reasons("intent-compiler:\n  policy:\n    self: [all: group]\n  group:\n    policy: []\n") == []


def test_a_cycle_over_kind_and_cause_is_a_warning_that_shows_it() -> None:
    text = "intent-compiler:\n  net:\n    self: [policy]\n    policy: [policy]\n  policy:\n    net: [net]\n"
    (finding,) = found(text)
    assert (finding.severity, finding.reason) == ("warning", "Cycle")
    assert "net (from policy) → policy (from net) → net (from policy)" in finding.message


def test_a_kind_that_reacts_to_itself_by_itself_is_a_cycle() -> None:
    assert reasons("intent-compiler:\n  net:\n    self: [net]\n    net: [net]\n") == [("Cycle", "4")]


def test_a_walk_to_everyone_that_ends_without_an_entry_is_found() -> None:
    assert reasons("intent-compiler:\n  net:\n    self: [all: policy]\n") == [("SilentStop", "3")]


def test_an_unknown_kind_of_which_everyone_is_meant_is_an_error() -> None:
    assert ("UnknownKind", "3") in reasons("intent-compiler:\n  net:\n    self: [all: polcy]\n")


def test_an_entry_is_reached_over_everyone_of_its_kind() -> None:
    assert reasons("intent-compiler:\n  net:\n    self: [all: group]\n  group:\n    net: []\n") == []


def test_a_cycle_over_everyone_of_a_kind_is_found() -> None:
    assert reasons("intent-compiler:\n  net:\n    self: [all: net]\n    net: [all: net]\n") == [("Cycle", "4")]


def test_kinds_without_a_relation_are_shown_what_both_have_to_do_with() -> None:
    (finding,) = found("intent-compiler:\n  net:\n    self: [group]\n  group:\n    net: []\n")
    assert "go on over tenant, which both have to do with, or write `all: group`" in finding.message


WRONG = {
    "UnknownKind": ("  nett:\n    self: []\n", "did you mean net?"),
    "SilentStop": ("  net:\n    self: [policy]\n", "add `net: []` to policy if the walk ends there"),
    "Unreachable": ("  net:\n    self: []\n    port: []\n", "let port go on to net, or take the entry out"),
    "NoRelation": (
        "  app:\n    self: [group]\n  group:\n    app: []\n",
        "take it out, or write `all: group` if every one is meant",
    ),
    "Cycle": ("  net:\n    self: [net]\n    net: [net]\n", "write `[]` for the cause after which the next need not"),
}


@pytest.mark.parametrize("reason", WRONG)
def test_every_finding_has_file_line_and_what_to_do(reason: str) -> None:
    text, advice = WRONG[reason]
    (finding,) = found(f"intent-compiler:\n{text}")
    assert finding.reason == reason
    assert re.search(r":\d+$", finding.source)
    assert advice in finding.message


def test_layers_lead_away_from_what_nothing_goes_on_to() -> None:
    reactions = load(
        "intent-compiler: {tenant: {self: [net]}, net: {tenant: [policy], policy: []}, policy: {net: [net]}}"
    )
    assert layers(reactions) == {"tenant": 0, "net": 1, "policy": 2}


def test_layers_place_mutually_linked_kinds_behind_the_start_of_the_walk() -> None:
    reactions = load("intent-compiler: {port: {self: [net], net: [port]}, net: {self: [port], port: [net]}}")
    assert layers(reactions) == {"port": 0, "net": 1}


def test_an_entry_without_effect_is_only_a_note() -> None:
    assert [finding.severity for finding in found("intent-compiler:\n  net:\n    self: []\n    port: []\n")] == ["note"]


def test_findings_come_errors_first_notes_last_and_then_by_line() -> None:
    text = "intent-compiler:\n  net:\n    port: []\n    self: [policy, nonsense]\n"
    assert [finding.severity for finding in found(text)] == ["error", "warning", "warning", "note"]
    assert reasons(text) == [("UnknownKind", "4"), ("SilentStop", "4"), ("SilentStop", "4"), ("Unreachable", "3")]
