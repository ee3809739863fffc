"""What recorded reads say about a map, with file, line, and what to do."""

from __future__ import annotations

from intentc.logic.coverage import Coverage, Use, along, idle_reactions, missing_reaction
from intentc.logic.dependencies import load
from intentc.logic.dependencies.reactions import Edge, edges
from tests.support.toy_kinds import keys, toy_schema

MAP = load("intent-compiler:\n  net:\n    self: [policy]\n  policy:\n    net: []\n    self: [{all: group}, net]\n")


def test_a_missing_reaction_between_kinds_with_a_relation_is_to_be_added() -> None:
    found = missing_reaction("port", "net", "3 times here", MAP, toy_schema())
    assert (found.severity, found.reason) == ("warning", "MissingReaction")
    assert found.source.endswith(":3")
    assert found.message == (
        "port reads net, but no path of the map leads there (3 times here): add port to `net: self:`, and "
        "`net: []` to port"
    )


def test_without_a_relation_everyone_must_be_meant() -> None:
    found = missing_reaction("group", "net", "once", MAP, toy_schema())
    assert "add {all: group} to `net: self:`, since net and group have no relation, and `net: []`" in found.message


def test_what_the_map_does_not_know_is_missing_where_its_reader_stands() -> None:
    found = missing_reaction("policy", "tenant", "once", MAP, toy_schema())
    assert found.source.endswith(":5")


def test_in_an_empty_map_it_is_missing_all_the_same() -> None:
    assert missing_reaction("port", "net", "once", load("intent-compiler: {}"), toy_schema()).source == ""


def test_an_idle_edge_is_reported_with_its_walks() -> None:
    (found,) = idle_reactions(Coverage((), (Use(Edge("net", "self", "policy"), False, "map.yml:3", 4, 0),)))
    assert (found.severity, found.reason, found.source) == ("note", "IdleReaction", "map.yml:3")
    assert found.message == (
        "net (from self) → policy: 4 walks here, to nobody who reads what changed; keep it if it is meant, or take "
        "policy out of `net: self:`"
    )


def test_unwalked_edges_of_one_entry_are_reported_together() -> None:
    uses = tuple(Use(Edge("net", "self", to), False, "map.yml:3", 0, 0) for to in ("policy", "port"))
    (found,) = idle_reactions(Coverage((), uses))
    assert found.message == (
        "net (from self) → policy, port: no walk led to an intent this way in these files, so nothing is known of "
        "its use; change any net"
    )


def test_the_edges_of_a_map_in_its_order() -> None:
    found = edges(MAP)
    assert [str(edge) for edge in found] == [
        "net (from self) → policy",
        "policy (from self) → group",
        "policy (from self) → net",
    ]
    assert [declared.everyone for declared in found.values()] == [False, True, False]


def test_the_edges_along_a_path() -> None:
    path = tuple(sorted(keys("net/a", "policy/p", "port/x")))
    assert list(along(path)) == [Edge("net", "self", "policy"), Edge("policy", "net", "port")]
    assert list(along(path[:1])) == []
