"""A reaction map compared with recorded reads: missing reactions, and idle edges."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from intentc.logic import Service
from intentc.logic.coverage import Coverage, coverage
from intentc.logic.dependencies import ReactionMap, load
from intentc.logic.dependencies.reactions import Edge
from intentc.model import Change, Fact, Read
from intentc.model.reads import fact_read, index_read, name_read, object_read, sources_read, targets_read
from tests.support.toy_kinds import key, put, reference, snapshot, toy_schema

KINDS = ("tenant", "net", "policy", "group", "tag")


def world(reactions: str, *changes: Change, trusting: str = "", **reads: Sequence[Read]) -> Service:
    """``reads``: the intent as ``net__a`` → what it has read besides itself."""
    kinds = {kind: kind == trusting for kind in KINDS}
    found = Service(toy_schema(), load(reactions), intent_kinds=kinds, settings={})
    found.apply(snapshot(*changes))
    for intent, read in reads.items():
        reader = key(intent.replace("__", "/"))
        found.evaluated(reader, frozenset({object_read(reader), *read}), (), complete=True)
    return found


def pairs(found: Coverage) -> list[tuple[str, str, int]]:
    return [(missing.reader, missing.read, missing.count) for missing in found.missing]


NOTHING = "intent-compiler: {}\n"
NET_TO_POLICY = put("net", "a", 1, policy_refs=[reference("p")])
POLICY = put("policy", "p", 2)


def test_a_read_object_from_which_no_walk_starts_is_a_missing_reaction() -> None:
    found = coverage(world(NOTHING, NET_TO_POLICY, POLICY, net__a=[object_read(key("policy/p"))]))
    (missing,) = found.missing
    assert (missing.reader, missing.read, missing.count) == ("net", "policy", 1)
    assert (missing.example_reader, missing.example_read) == ("a", "p")


def test_a_walk_from_what_is_read_to_its_reader_is_enough() -> None:
    reactions = "intent-compiler: {policy: {self: [net]}, net: {policy: []}}\n"
    found = coverage(world(reactions, NET_TO_POLICY, POLICY, net__a=[object_read(key("policy/p"))]))
    assert found.missing == ()


def test_a_walk_that_leads_to_others_than_the_reader_is_not() -> None:
    reactions = "intent-compiler: {policy: {self: [net]}, net: {policy: []}}\n"
    unrelated = put("net", "b", 3)
    found = coverage(world(reactions, NET_TO_POLICY, POLICY, unrelated, net__b=[object_read(key("policy/p"))]))
    assert pairs(found) == [("net", "policy", 1)]


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(targets_read(key("net/a"), "policy"), id="targets"),
        pytest.param(name_read("policy", ("p",)), id="name"),
        pytest.param(index_read("policy", "all", ""), id="all of a kind"),
        pytest.param(index_read("policy", "fq_name", "p"), id="index"),
    ],
)
def test_whatever_sort_of_read_finds_an_object_it_counts(read: Read) -> None:
    assert pairs(coverage(world(NOTHING, NET_TO_POLICY, POLICY, net__a=[read]))) == [("net", "policy", 1)]


def test_those_who_refer_to_an_object_count_if_they_are_read() -> None:
    read = sources_read(key("policy/p"), "net", "policy")
    assert pairs(coverage(world(NOTHING, NET_TO_POLICY, POLICY, policy__p=[read]))) == [("policy", "net", 1)]


def test_the_holder_of_a_reference_counts_for_others_who_read_where_it_leads() -> None:
    read = targets_read(key("net/a"), "policy")
    found = coverage(world(NOTHING, NET_TO_POLICY, POLICY, put("group", "g", 3), group__g=[read]))
    assert pairs(found) == [("group", "net", 1), ("group", "policy", 1)]


@pytest.mark.parametrize(
    ("read", "example"),
    [
        (name_read("policy", ("late",)), "late (none is there)"),
        (index_read("policy", "all", ""), "any (none is there)"),
        (sources_read(key("net/a"), "net", "net"), "any with the net a (none is there)"),
    ],
)
def test_an_absent_object_that_is_read_must_be_able_to_reach_its_reader(read: Read, example: str) -> None:
    (missing,) = coverage(world(NOTHING, put("net", "a", 1), net__a=[read])).missing
    assert (missing.reader, missing.read, missing.example_read) == (
        "net",
        read[1] if read[0] != "sources" else "net",
        example,
    )


def test_an_absent_read_is_covered_by_a_map_that_leads_from_its_kind() -> None:
    reactions = "intent-compiler: {policy: {self: [tenant]}, tenant: {policy: [net]}, net: {tenant: []}}\n"
    found = coverage(world(reactions, put("net", "a", 1), net__a=[name_read("policy", ("late",))]))
    assert found.missing == ()


def test_an_intent_that_reads_itself_needs_no_reaction() -> None:
    reads = [name_read("net", ("a",)), index_read("net", "all", "")]
    assert coverage(world(NOTHING, put("net", "a", 1), net__a=reads)).missing == ()


def test_facts_need_no_reaction() -> None:
    found = world(NOTHING, put("net", "a", 1), POLICY, net__a=[fact_read("tag", "t")])
    found.evaluated(key("net/a"), frozenset({object_read(key("net/a"))}), (Fact("tag", "t", 1),), complete=True)
    found.evaluated(key("tag/t"), frozenset({object_read(key("policy/p"))}), (), complete=True)
    assert coverage(found).missing == ()


def idle(found: Coverage) -> list[Edge]:
    return [use.edge for use in found.idle]


CHAIN = """\
intent-compiler:
  policy: {self: [net, tenant]}
  net: {policy: [tenant]}
  tenant: {policy: [], net: []}
"""


def test_an_edge_that_leads_to_nobody_who_reads_is_idle() -> None:
    tenant = put("tenant", "t", 3)
    found = coverage(world(CHAIN, NET_TO_POLICY, POLICY, tenant, net__a=[object_read(key("policy/p"))]))
    assert idle(found) == [Edge("policy", "self", "tenant"), Edge("net", "policy", "tenant")]


def test_an_edge_in_the_middle_of_a_way_is_needed() -> None:
    reactions = "intent-compiler: {policy: {self: [net]}, net: {policy: [tenant]}, tenant: {net: []}}\n"
    net = put("net", "a", 1, parent_type="tenant", parent_uuid="t", policy_refs=[reference("p")])
    found = coverage(world(reactions, net, POLICY, put("tenant", "t", 3), tenant__t=[object_read(key("policy/p"))]))
    assert idle(found) == []
    assert [(use.walks, use.needed) for use in found.uses] == [(1, 1), (1, 1)]


def test_an_edge_whose_walks_reach_no_reader_was_walked_and_is_idle() -> None:
    reactions = "intent-compiler: {policy: {self: [net]}, net: {policy: []}}\n"
    (use,) = coverage(world(reactions, NET_TO_POLICY, POLICY, net__a=[])).uses
    assert (use.walks, use.needed) == (1, 0)
    assert use.source.endswith(":1")


def test_an_intent_that_trusts_the_map_needs_each_edge_that_leads_to_it() -> None:
    reactions = "intent-compiler: {policy: {self: [net]}, net: {policy: []}}\n"
    assert idle(coverage(world(reactions, NET_TO_POLICY, POLICY, trusting="net", net__a=[]))) == []


def test_everyone_of_a_kind_is_reported_as_such() -> None:
    reactions = "intent-compiler: {tenant: {self: [{all: group}]}, group: {tenant: []}}\n"
    found = coverage(
        world(
            reactions,
            put("tenant", "t", 1),
            put("group", "g", 2),
            put("group", "h", 3),
            group__g=[object_read(key("tenant/t"))],
        )
    )
    (use,) = found.uses
    assert (use.everyone, use.walks, use.needed) == (True, 2, 1)


def test_without_its_idle_edges_a_map_covers_the_same_world() -> None:
    tenant = put("tenant", "t", 3)
    found = world(CHAIN, NET_TO_POLICY, POLICY, tenant, net__a=[object_read(key("policy/p"))])
    unneeded = set(idle(coverage(found)))
    smaller = ReactionMap(
        reaction._replace(
            visits=tuple(v for v in reaction.visits if Edge(reaction.kind, reaction.cause, v.kind) not in unneeded)
        )
        for reaction in found.reactions
    )
    assert unneeded
    assert coverage(found, smaller).missing == ()


def test_another_map_is_compared_in_the_same_world() -> None:
    found = world(CHAIN, NET_TO_POLICY, POLICY, net__a=[object_read(key("policy/p"))])
    assert coverage(found).missing == ()
    assert pairs(coverage(found, load(NOTHING))) == [("net", "policy", 1)]
