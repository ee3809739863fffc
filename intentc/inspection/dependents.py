"""Lists what follows from an input: its outputs, its readers, and the outputs of other intents that cite it.

Why these in addition to its own outputs: the rule that admits another group's ports is in that group's list. The
intents that read the resource are evaluated once more for their reasons, at most 200, in slices. Only a plan shows what
deleting the resource would change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from intentc.engine.live import Live
from intentc.engine.slices import Slice
from intentc.inspection.identities import Document, of_key, of_name
from intentc.inspection.part_sources import in_order, may_evaluate, stored_behind
from intentc.inspection.resource_states import AS_DESIRED, state_of
from intentc.logic import LiveWorld
from intentc.logic.live_world import reads_of_resource
from intentc.model import Key, Name
from intentc.model.names import FQ_NAME, UUID
from intentc.model.reads import fact_read, presence_read
from intentc.planning import Planner

_SHOWN = 100


class OutputList(NamedTuple):
    """``shown``: the first outputs as JSON, those not as desired first. Each has the number of other resources that it
    also follows from. ``total``: how many there are; ``amiss``: how many are not as desired."""

    shown: list[Document]
    total: int
    amiss: int


async def outputs(live: Live, key: Key) -> OutputList:
    """Return the objects that an intent claims, except its own resource, and those that the intents of its facts
    claim."""
    work = Slice()
    states: dict[Name, str] = {}
    for name in sorted(_claimed(live.world, live.planner, key)):
        made = live.world.named(*name)
        if made != key:
            states[name] = state_of(live, name, made)
        await work.rest()
    ordered = sorted(states, key=lambda name: states[name] == AS_DESIRED)
    shown = []
    for name in ordered[:_SHOWN]:
        resource = of_name(live.world, name)
        others = set(stored_behind(live.world, live.planner.book.on(name))) - {key}
        exists = bool(resource["uuid"])
        shown.append({**resource, "exists": exists, "state": states[name], "with_others": len(others)})
        await work.rest()
    return OutputList(shown, len(states), sum(state != AS_DESIRED for state in states.values()))


def missing(world: LiveWorld, key: Key) -> list[Document]:
    """Return ``{"relation", "target"}`` for each dangling reference by uuid or name."""
    resource = world.cache.shown(key)
    if resource is None:
        return []
    links = (link for link in resource.links if link.by in (UUID, FQ_NAME))
    return [
        {"relation": link.relation, "target": f"{link.kind} {link.value}"}
        for link in links
        if not world.cache.graph.resolve(resource.kind, link)
    ][:_SHOWN]


def readers_of(world: LiveWorld, key: Key) -> frozenset[Key]:
    """Return the intents that read something of a resource, except its own."""
    return frozenset(r for read in reads_of_resource(world, key) for r in world.reads.readers(read)) - {key}


def concerns(world: LiveWorld, readers: frozenset[Key]) -> tuple[list[Document], int]:
    """Return the first of ``readers`` as JSON, and their number."""
    return [of_key(world, reader) for reader in sorted(readers)[:_SHOWN]], len(readers)


def _claimed(world: LiveWorld, planner: Planner, key: Key) -> set[Name]:
    found: set[Name] = set()
    seen = {key}
    waiting = [key]
    while waiting:
        intent = waiting.pop()
        found.update(planner.book.of(intent))
        news = {fact for fact in world.facts_of(intent) if fact.kind in world.intent_kinds} - seen
        seen |= news
        waiting.extend(news)
    return found


_EVALUATED = 200
"""Readers that are evaluated."""


class Dependents(NamedTuple):
    """``shown``: ``{"kind", "name", "uuid", "part"}`` of the first; ``total``: how many were found; ``whole``: whether
    all readers were evaluated."""

    shown: list[Document]
    total: int
    whole: bool


async def dependents(live: Live, key: Key, readers: Iterable[Key]) -> Dependents:
    """Find the parts with a reason that cites ``key``, among ``readers`` and the intents that their facts reach."""
    work, found = Slice(), set[tuple[Name, str]]()
    meant = (key.kind, live.world.name_of(key))
    asked = await _over_facts(live.world, key, readers)
    for intent in asked[:_EVALUATED]:
        if may_evaluate(live.world, live.states, intent):
            for name, reasons in live.runner.explain(intent).reasons.items():
                for reason in reasons:
                    if any((source.kind, source.name) == meant for source in reason.sources):
                        found.add((name, reason.part))
        await work.rest()
    others = ((name, part) for name, part in found if (name.kind, ":".join(name.fq_name)) != meant)
    ordered = sorted(others, key=lambda one: (one[0], in_order(one[1])))
    shown = [{**of_name(live.world, name), "part": part} for name, part in ordered[:_SHOWN]]
    return Dependents(shown, len(ordered), len(asked) <= _EVALUATED)


async def _over_facts(world: LiveWorld, key: Key, readers: Iterable[Key]) -> list[Key]:
    """Return ``readers``, the intents of their facts, and the readers of these; at most one more than are evaluated."""
    work, found = Slice(), dict[Key, None]()
    waiting = sorted(readers, reverse=True)
    while waiting and len(found) <= _EVALUATED:
        intent = waiting.pop()
        if intent in found or intent == key:
            continue
        found[intent] = None
        for fact in sorted(world.facts_of(intent)):
            news = {*world.reads.readers(fact_read(*fact)), *world.reads.readers(presence_read(*fact))}
            if fact.kind in world.intent_kinds:
                news.add(fact)
            waiting[:0] = sorted(news - found.keys(), reverse=True)
        await work.rest()
    return list(found)
