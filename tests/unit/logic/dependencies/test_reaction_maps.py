"""Reaction maps are read from YAML; faults are reported with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from intentc.logic.dependencies import ReactionMap, load
from intentc.model import InvalidInput

EXAMPLE = """\
intent-compiler:
  port_tuple:
    self: [service_instance]
    virtual_machine_interface: [service_instance]
    service_instance: [virtual_machine_interface]
"""


def test_a_map_says_what_comes_next_for_kind_and_cause() -> None:
    reactions = load(EXAMPLE)
    assert reactions.next("port_tuple", "self") == ("service_instance",)
    assert reactions.next("port_tuple", "service_instance") == ("virtual_machine_interface",)


def test_where_a_map_says_nothing_nothing_comes_next() -> None:
    reactions = load(EXAMPLE)
    assert reactions.next("port_tuple", "network") == ()
    assert reactions.next("unheard_of", "self") == ()
    assert ("port_tuple", "network") not in reactions


@pytest.mark.parametrize("nothing", ["[]", "", "null"])
def test_an_empty_entry_is_a_stop_that_is_meant(nothing: str) -> None:
    reactions = load(f"intent-compiler:\n  net:\n    port: {nothing}\n")
    assert ("net", "port") in reactions
    assert reactions.next("net", "port") == ()


def test_kinds_may_be_spelled_in_kebab_case() -> None:
    reactions = load("intent_compiler:\n  port-tuple:\n    floating-ip: [service-instance]\n")
    assert reactions.next("port_tuple", "floating_ip") == ("service_instance",)


def test_all_goes_on_to_every_object_of_a_kind() -> None:
    reactions = load("intent-compiler:\n  global:\n    self: [port, all: net]\n")
    assert reactions.next("global", "self") == ("port",)
    assert reactions.next_all("global", "self") == ("net",)


def test_rank_follows_the_order_of_the_map() -> None:
    reactions = load("intent-compiler:\n  b: {self: []}\n  a: {self: []}\n")
    assert sorted(["a", "b", "z"], key=reactions.rank) == ["b", "a", "z"]


def test_several_maps_are_joined() -> None:
    reactions = load("intent-compiler:\n  a: {self: [b]}\n", "intent-compiler:\n  a: {self: [c, b], b: []}\n")
    assert reactions.next("a", "self") == ("b", "c")
    assert ("a", "b") in reactions


def test_no_reactions_at_all_are_said_in_so_many_words() -> None:
    assert len(load("intent-compiler: {}")) == 0
    assert len(ReactionMap()) == 0


@pytest.mark.parametrize(
    ("text", "line"), [("", 1), ("\n# later\n", 1), ("null\n", 1), ("---\n{}\n", 2), ("# a\nintent-compiler:\n", 2)]
)
def test_a_file_in_which_nothing_is_said_is_no_map(tmp_path: Path, text: str, line: int) -> None:
    """It looks so while it is being written; taken for a map, it would end all reactions."""
    path = tmp_path / "map.yml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=r"write `intent-compiler: \{\}`") as error:
        load(path)
    assert error.value.source == f"{path}:{line}"


def test_entries_know_their_line(tmp_path: Path) -> None:
    path = tmp_path / "map.yml"
    path.write_text(EXAMPLE)
    assert [reaction.source for reaction in load(path)] == [f"{path}:3", f"{path}:4", f"{path}:5"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("intent-compilr:\n  a: {self: []}\n", 1, "did you mean intent-compiler?"),
        ("intent-compiler:\n  a: [b]\n", 2, "expected a mapping of causes"),
        ("intent-compiler:\n  a:\n    self: b\n", 3, "write [b]"),
        ("intent-compiler:\n  a:\n    self:\n      - b\n      - 7\n", 5, "expected a kind or `all: KIND`, found 7"),
        ("intent-compiler:\n  a:\n    self: [{every: b}]\n", 3, "expected a kind or `all: KIND`"),
        ("intent-compiler:\n  a_b: {self: []}\n  a-b: {self: []}\n", 3, "'a_b' and 'a-b' are the same kind"),
        ("- a\n", 1, "expected a mapping"),
    ],
)
def test_an_invalid_map_is_rejected_with_file_and_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    path = tmp_path / "map.yml"
    path.write_text(text)
    with pytest.raises(InvalidInput) as rejected:
        load(path)
    assert str(rejected.value).startswith(f"{path}:{line}: ")
    assert message in str(rejected.value)
