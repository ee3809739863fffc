"""``coverage`` reports exactly the missing reactions that an engine would count if each object were deleted or
created; without its idle edges every reader is still reached."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from intentc.logic import Service
from intentc.logic.coverage import coverage
from intentc.logic.dependencies import ReactionMap
from intentc.logic.dependencies.reactions import SELF, Edge, Reaction, Visit
from intentc.model import Change, Key, Read, Snapshot
from intentc.model.reads import index_read, name_read, object_read, sources_read, targets_read
from tests.property.profiles import share
from tests.support.toy_kinds import batch, deleted, put, reference, toy_schema

SCHEMA = toy_schema()
KINDS = ("net", "policy", "port", "tenant")
UUIDS = ("a", "b", "c")
ALL = tuple(Key(kind, uuid) for kind in KINDS for uuid in UUIDS)
LATE = "late"

_kinds = st.sampled_from(KINDS)
_visits = st.lists(st.builds(Visit, _kinds, st.booleans(), st.just("map:1")), max_size=2).map(tuple)
maps = st.lists(
    st.builds(Reaction, _kinds, st.sampled_from((SELF, *KINDS)), _visits, st.just("map:1")), max_size=8
).map(ReactionMap)


def _value(draw: st.DrawFn, key: Key) -> Change:
    fields: dict[str, Any] = {}
    targets = st.lists(st.sampled_from(UUIDS), max_size=2, unique=True)
    if key.kind in ("net", "port"):
        fields["net_refs"] = [reference(target) for target in draw(targets)]
    if key.kind == "net":
        fields["policy_refs"] = [reference(target) for target in draw(targets)]
    return put(key.kind, key.uuid, 1, **fields)


def _read(draw: st.DrawFn) -> Read:
    key = draw(st.sampled_from(ALL))
    match draw(st.integers(0, 4)):
        case 0:
            return object_read(key)
        case 1:
            return targets_read(key, draw(st.sampled_from(("net", "policy"))))
        case 2:
            return sources_read(key, draw(st.sampled_from(("net", "port"))), "net")
        case 3:
            return index_read(key.kind, "all", "")
    return name_read(key.kind, (draw(st.sampled_from((key.uuid, LATE))),))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[tuple[Change, ...], dict[Key, frozenset[Read]]]:
    """What is there, and what each intent has read."""
    present = draw(st.lists(st.sampled_from(ALL), min_size=1, max_size=8, unique=True))
    reads = {
        key: frozenset({object_read(key), *(_read(draw) for _ in range(draw(st.integers(0, 3))))}) for key in present
    }
    return tuple(_value(draw, key) for key in present), reads


def service(world: tuple[tuple[Change, ...], dict[Key, frozenset[Read]]], reactions: ReactionMap) -> Service:
    found = Service(SCHEMA, reactions, intent_kinds=dict.fromkeys(KINDS, False), settings={})
    found.apply(Snapshot(1, world[0]))
    for key, reads in world[1].items():
        found.evaluated(key, reads, (), complete=True)
    return found


def named(logic: Service, change: Change) -> set[tuple[str, str]]:
    """The missing reactions that an engine names when this happens."""
    return {job.missing for job in logic.apply(batch(change)).jobs.values() if job.missing is not None}


@share(0.5)
@given(worlds(), maps)
def test_what_is_missing_is_what_is_named_when_an_object_goes(
    world: tuple[tuple[Change, ...], dict[Key, frozenset[Read]]], reactions: ReactionMap
) -> None:
    missing = {(one.reader, one.read) for one in coverage(service(world, reactions)).missing}
    gone = {
        pair for change in world[0] for pair in named(service(world, reactions), deleted(change.kind, change.uuid, 2))
    }
    assert gone <= missing
    comes = {pair for kind in KINDS for pair in named(service(world, reactions), put(kind, LATE, 2))} | {
        pair for key in ALL if key not in world[1] for pair in named(service(world, reactions), put(*key, 2))
    }
    assert missing - gone <= comes | _only_with_references(world, missing - gone)


def _only_with_references(
    world: tuple[tuple[Change, ...], dict[Key, frozenset[Read]]], pairs: set[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Pairs of those who read who refers to something, and find nobody: that changes by one that comes and refers."""
    found = {(reader.kind, read[3]) for reader, reads in world[1].items() for read in reads if read[0] == "sources"}
    return pairs & found


@share(0.5)
@given(worlds(), maps)
def test_nobody_misses_what_is_idle(
    world: tuple[tuple[Change, ...], dict[Key, frozenset[Read]]], reactions: ReactionMap
) -> None:
    idle = {use.edge for use in coverage(service(world, reactions)).idle}
    smaller = ReactionMap(
        reaction._replace(
            visits=tuple(v for v in reaction.visits if Edge(reaction.kind, reaction.cause, v.kind) not in idle)
        )
        for reaction in reactions
    )
    for change in world[0]:
        gone = deleted(change.kind, change.uuid, 2)
        assert named(service(world, smaller), gone) == named(service(world, reactions), gone)
