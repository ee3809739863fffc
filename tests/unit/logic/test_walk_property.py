"""The walk of a batch is the union of the walks over the whole world as it was before and as it is after."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from intentc.logic import Service
from intentc.logic.dependencies import DependencyProcessor, load
from intentc.model import Change, Key, Snapshot
from tests.property.profiles import share
from tests.support.toy_kinds import batch, deleted, put, reference, toy_schema

SCHEMA = toy_schema()
REACTIONS = load(
    """\
intent-compiler:
  policy: {self: [net], net: [net]}
  net: {self: [policy, net], policy: [port], net: []}
  port: {self: [net], net: [all: tenant]}
"""
)
KINDS = dict.fromkeys(("net", "policy", "port", "tenant"), False)
UUIDS = ("a", "b", "c")


@st.composite
def changes(draw: st.DrawFn, revision: int) -> Change:
    kind, uuid = draw(st.sampled_from(tuple(KINDS))), draw(st.sampled_from(UUIDS))
    if draw(st.integers(0, 3)) == 0:
        return deleted(kind, uuid, revision)
    fields: dict[str, Any] = {}
    if kind in ("net", "port"):
        fields["net_refs"] = [reference(target) for target in draw(st.lists(st.sampled_from(UUIDS), max_size=2))]
    if kind == "net":
        fields["policy_refs"] = [reference(target) for target in draw(st.lists(st.sampled_from(UUIDS), max_size=2))]
    return put(kind, uuid, revision, text=draw(st.sampled_from("xy")), **fields)


class Fresh:
    """A world that was taken in at once, as the walk sees it."""

    def __init__(self, world: dict[Key, Change]) -> None:
        self.service = Service(SCHEMA, REACTIONS, intent_kinds=KINDS, settings={})
        self.service.apply(Snapshot(1, tuple(world.values())))

    def walk(self, origins: set[Key]) -> set[Key]:
        return set(DependencyProcessor(REACTIONS, self).walk(origins))

    def related(self, key: Key, kind: str) -> set[Key]:
        return self.service.cache.graph.related(key, kind)

    def all(self, kind: str) -> tuple[Key, ...]:
        return self.service.cache.all(kind)


@share(0.4)
@given(st.data())
def test_the_walk_unites_before_and_after(data: st.DataObject) -> None:
    service = Service(SCHEMA, REACTIONS, intent_kinds=KINDS, settings={})
    world: dict[Key, Change] = {}
    for revision in range(1, 8):
        drawn = data.draw(st.lists(changes(revision), min_size=1, max_size=3))
        arrived = {Key(change.kind, change.uuid): change for change in drawn}
        origins = {
            key for key, change in arrived.items() if change.value != (world[key].value if key in world else None)
        }
        before = Fresh(world)
        for key, change in arrived.items():
            if change.value is None:
                world.pop(key, None)
            else:
                world[key] = change
        wanted = {key for key in before.walk(origins) | Fresh(world).walk(origins) if key in world}
        assert set(service.apply(batch(*arrived.values())).jobs) == wanted
