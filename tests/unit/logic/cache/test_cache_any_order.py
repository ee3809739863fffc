"""In whatever order resources arrive, the graph answers as if the final world had arrived at once."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from intentc.logic.cache import Cache, State
from intentc.logic.decoding import decoded
from intentc.model import Change, Key
from tests.support.toy_kinds import broken, put, reference, toy_schema

SCHEMA = toy_schema()
UUIDS = ("a", "b", "c")
NAMES = ("blue", "green", "red")


@st.composite
def resources(draw: st.DrawFn) -> list[Change]:
    """Nets and groups whose names and references are drawn from pools of three, each key once."""
    found = []
    for revision, uuid in enumerate(draw(st.permutations(UUIDS)), start=1):
        name = draw(st.sampled_from(NAMES))
        references: list[dict[str, Any]] = [
            reference(draw(st.sampled_from(UUIDS))),
            reference(draw(st.sampled_from(NAMES)), uuid=False),
        ]
        found.append(put("net", uuid, revision, name=name, net_refs=references))
        if draw(st.booleans()):
            rules = [{"group": other} for other in draw(st.lists(st.sampled_from(NAMES), max_size=2))]
            found.append(put("group", uuid, revision, name=draw(st.sampled_from(NAMES)), rules={"rule": rules}))
        else:
            found.append(broken("group", uuid, revision))
    return found


def answers(cache: Cache) -> dict[str, Any]:
    """Every answer of the graph."""
    answers: dict[str, Any] = {"pending": sorted(cache.pending()), "held": dict(cache.held)}
    for key in sorted(cache):
        for kind, relation in (("net", "net"), ("group", "mentioned")):
            answers[f"{key} {relation} targets"] = cache.graph.targets(key, relation)
            answers[f"{key} {relation} sources"] = cache.graph.sources(key, kind, relation)
    for name in NAMES:
        answers[f"{name} named"] = [cache.named(kind, (name,)) for kind in ("net", "group")]
        answers[f"{name} found"] = set(cache.find("group", "names", name))
    return answers


def arrive(batches: list[list[Change]]) -> Cache:
    cache = Cache(SCHEMA)
    for changes in batches:
        states: dict[Key, State | None] = {
            Key(c.kind, c.uuid): decoded(SCHEMA.kinds[c.kind], c) if c.value is not None else None for c in changes
        }
        cache.commit(cache.prepare(states))
    return cache


@given(resources(), st.data())
def test_any_order_of_arrival_gives_the_same_answers(world: list[Change], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(world))
    assert answers(arrive([[change] for change in shuffled])) == answers(arrive([world]))


@given(resources(), resources(), st.data())
def test_what_was_there_before_and_is_gone_leaves_no_trace(
    former: list[Change], world: list[Change], data: st.DataObject
) -> None:
    readable = [change for change in former if change.value != b"{"]
    gone = [change._replace(value=None) for change in data.draw(st.permutations(readable))]
    cache = arrive([[change] for change in readable] + [[change] for change in gone] + [world])
    assert answers(cache) == answers(arrive([world]))


@given(resources(), resources(), st.data())
def test_updates_in_any_order_end_like_the_last_state_alone(
    former: list[Change], world: list[Change], data: st.DataObject
) -> None:
    # Only readable states: an unreadable one keeps what was known before, which is history by intent.
    former = [change for change in former if change.kind == "net"]
    world = [change for change in world if change.kind == "net"]
    shuffled = data.draw(st.permutations(world))
    cache = arrive([former] + [[change] for change in shuffled])
    assert answers(cache) == answers(arrive([world]))
