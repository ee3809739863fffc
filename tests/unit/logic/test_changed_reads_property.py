"""No read too few: whatever a batch does, everybody who read something that has another answer now is woken.

One reader is made for each read that the small world allows; the answers before and after are compared one by one.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intentc.logic import Service
from intentc.logic.dependencies import load
from intentc.model import Change, HeldInput, Key, Read, Snapshot
from intentc.model.reads import (
    index_read,
    kinds_of,
    metadata_read,
    name_read,
    object_read,
    sources_read,
    targets_read,
    usable_read,
)
from tests.property.profiles import share
from tests.support.toy_kinds import batch, broken, deleted, manifest, put, reference, toy_schema

SCHEMA = toy_schema()
UUIDS = ("a", "b", "c")
NAMES = ("blue", "green")
LABELS: tuple[dict[str, str], ...] = ({}, {"tier": "x"}, {"tier": "x", "zone": "y"}, {"zone": "y"})
HOSTS = ("a.org", "b.a.org", "*.org")
RELATIONS = {
    "net": (("net", "net"), ("port", "net")),
    "group": (("group", "mentioned"),),
    "app": (("chooser", "chosen"), ("chooser", "backend")),
    "host": (("route", "hosts"),),
}
"""Target kind → the (source kind, relation) pairs that refer to it."""


def reads() -> list[Read]:
    found: list[Read] = []
    for target, referring in RELATIONS.items():
        for uuid in UUIDS:
            for kind, relation in referring:
                found.append(sources_read(Key(target, uuid), kind, relation))
                found.append(targets_read(Key(kind, uuid), relation))
    for kind in ("net", "port", "group", "app", "chooser", "host", "route"):
        found.append(index_read(kind, "all", ""))
        for uuid in UUIDS:
            found += [object_read(Key(kind, uuid)), index_read(kind, "uuid", uuid)]
            found += [name_read(kind, ("default", uuid)), index_read(kind, "fq_name", f"default:{uuid}")]
        for name in NAMES:
            found += [name_read(kind, (name,)), index_read(kind, "fq_name", name)]
    for uuid in UUIDS:
        app = Key("app", uuid)
        found.append(metadata_read(app, "labels"))
        found += [metadata_read(app, "labels", name) for name in ("tier", "zone")]
        found.append(usable_read(app))
    found += [index_read("group", "names", name) for name in NAMES]
    found += [index_read("app", "label", label) for label in ("tier=x", "zone=y")]
    found += [index_read("host", "hostname", value) for value in ("a.org", "*.org", "*.a.org", "*")]
    return sorted(set(found))


READS = reads()
READERS = {Key("tenant", str(number)): read for number, read in enumerate(READS)}


@st.composite
def changes(draw: st.DrawFn, kinds: tuple[str, ...], revision: int) -> Change:
    kind = draw(st.sampled_from(kinds))
    uuid = draw(st.sampled_from(UUIDS))
    fate = draw(st.sampled_from(("put", "put", "put", "put", "delete", "break")))
    if fate == "delete":
        return deleted(kind, uuid, revision)
    if fate == "break":
        return broken(kind, uuid, revision)
    if kind == "app":
        return manifest(kind, uuid, revision, labels=draw(st.sampled_from(LABELS)))
    if kind == "chooser":
        selector = draw(st.sampled_from(LABELS))
        return manifest(kind, uuid, revision, selector=selector, backend=draw(st.sampled_from(UUIDS)))
    if kind == "host":
        return manifest(kind, uuid, revision, hostname=draw(st.sampled_from(HOSTS)))
    if kind == "route":
        return manifest(kind, uuid, revision, hosts=draw(st.lists(st.sampled_from(HOSTS), max_size=2)))
    fields: dict[str, Any] = {"name": draw(st.sampled_from(NAMES)), "born": draw(st.integers(1, 3))}
    if kind == "group":
        fields["rules"] = {"rule": [{"group": name} for name in draw(st.lists(st.sampled_from(NAMES), max_size=2))]}
    else:
        by_uuid = draw(st.booleans())
        target = draw(st.sampled_from(UUIDS if by_uuid else NAMES))
        attribute = {"weight": draw(st.integers(0, 1))} if kind == "port" else {}
        fields["net_refs"] = [reference(target, uuid=by_uuid, **attribute)]
    return put(kind, uuid, revision, **fields)


@st.composite
def histories(draw: st.DrawFn, kinds: tuple[str, ...]) -> list[list[Change]]:
    batches = []
    for revision in range(4, 4 + draw(st.integers(3, 8))):
        drawn = draw(st.lists(changes(kinds, revision), min_size=1, max_size=4))
        batches.append(list({(change.kind, change.uuid): change for change in drawn}.values()))
    return batches


def answer(world: Service, read: Read) -> Any:
    sort, rest = read[0], read[1:]
    if sort == "object":
        try:
            found = world.resource(Key(*rest))
        except HeldInput:
            return "held"
        if found is None:
            return None
        values = found.values()
        return tuple(getattr(values, field) for field in found.kind.input_fields)
    if sort in ("usable", "metadata"):
        try:
            found = world.resource(Key(rest[0], rest[1]))
        except HeldInput:
            return "held"
        if sort == "usable" or found is None:
            return found is not None
        labels = found.values().metadata.labels
        return (labels,) if len(rest) == 3 else (labels.get(rest[3]),)
    if sort == "name":
        return world.named(rest[0], tuple(rest[1].split(":")))
    if sort == "targets":
        return world.targets(Key(rest[0], rest[1]), rest[2])
    if sort == "sources":
        return world.sources(Key(rest[0], rest[1]), rest[2], rest[3])
    return world.select(rest[0], rest[1], rest[2])


def readers_of(world: Service, readers: dict[Key, Read]) -> None:
    for reader, read in readers.items():
        # A reader of a part reads whether the object is usable, too.
        also = {usable_read(Key(read[1], read[2]))} if read[0] == "metadata" else set()
        world.evaluated(reader, frozenset({read, *also}), (), complete=True)


def assert_nobody_is_forgotten(world: Service, readers: dict[Key, Read], changed: list[Change]) -> None:
    before = {reader: answer(world, read) for reader, read in readers.items()}
    jobs = world.apply(batch(*changed)).jobs
    forgotten = [read for key, read in readers.items() if answer(world, read) != before[key] and key not in jobs]
    assert forgotten == []


KINDS = pytest.mark.parametrize(
    "kinds",
    [("net",), ("net", "port"), ("group",), ("app", "chooser"), ("host", "route"), ("group", "net", "app", "chooser")],
    ids="+".join,
)


def a_world() -> Service:
    world = Service(SCHEMA, load("intent-compiler: {}\n"), intent_kinds={"tenant": False}, settings={})
    world.apply(Snapshot(1, tuple(put("tenant", reader.uuid, 1) for reader in READERS)))
    return world


@KINDS
@share(0.25)
@given(data=st.data())
def test_everybody_whose_read_has_another_answer_is_woken(kinds: tuple[str, ...], data: st.DataObject) -> None:
    world = a_world()
    readers_of(world, READERS)
    for changed in data.draw(histories(kinds)):
        assert_nobody_is_forgotten(world, READERS, changed)


@KINDS
@share(0.25)
@given(data=st.data())
def test_a_few_readers_that_begin_late_are_woken(kinds: tuple[str, ...], data: st.DataObject) -> None:
    """Changes of kinds that nobody reads are not looked at: the readers here read one kind."""
    kind = data.draw(st.sampled_from(kinds))
    possible = [reader for reader, read in READERS.items() if kinds_of(read)[0] == kind]
    chosen = data.draw(st.lists(st.sampled_from(possible), min_size=1, max_size=5, unique=True))
    readers = {reader: READERS[reader] for reader in chosen}
    world = a_world()
    past = data.draw(st.integers(0, 3))
    for number, changed in enumerate(data.draw(histories(kinds))):
        if number < past:
            world.apply(batch(*changed))
            continue
        if number == past:
            readers_of(world, readers)
        assert_nobody_is_forgotten(world, readers, changed)
