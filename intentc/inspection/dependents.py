"""Lists what follows from an input: its outputs, its readers, and the outputs of other intents that cite it.

Why these in addition to its own outputs: the rule that admits another group's ports is in that group's list. The
intents that read the resource are evaluated once more for their reasons, at most 200, in slices. Only a plan shows what
deleting the resource would change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from intentc.diagnostics.questions import ObjectState
from intentc.engine.live import Live
from intentc.inspection.identities import Document, of_key, of_name
from intentc.inspection.part_sources import in_order, may_evaluate, stored_behind
from intentc.inspection.resource_states import state_of
from intentc.inspection.traversal import reached, sliced
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
    states: dict[Name, str] = {}
    async for name in sliced(sorted(_claimed(live.world, live.planner, key)), block=1):
        made = live.world.named(*name)
        if made != key:
            states[name] = state_of(live, name, made)
    ordered = sorted(states, key=lambda name: states[name] == ObjectState.AS_DESIRED)
    shown = []
    async for name in sliced(ordered[:_SHOWN], block=1):
        resource = of_name(live.world, name)
        others = set(stored_behind(live.world, live.planner.book.on(name))) - {key}
        exists = bool(resource["uuid"])
        shown.append({**resource, "exists": exists, "state": states[name], "with_others": len(others)})
    return OutputList(shown, len(states), sum(state != ObjectState.AS_DESIRED for state in states.values()))


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
    intents = reached([key], lambda one: (fact for fact in world.facts_of(one) if fact.kind in world.intent_kinds))
    return set(chain.from_iterable(map(planner.book.of, intents)))


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
    found: set[tuple[Name, str]] = set()
    meant = (key.kind, live.world.name_of(key))
    most = islice(_over_facts(live.world, key, readers), _EVALUATED + 1)
    asked = [intent async for intent in sliced(most, block=1)]
    async for intent in sliced(asked[:_EVALUATED], block=1):
        if may_evaluate(live.world, live.states, intent):
            for name, reasons in live.runner.explain(intent).reasons.items():
                for reason in reasons:
                    if any((source.kind, source.name) == meant for source in reason.sources):
                        found.add((name, reason.part))
    others = ((name, part) for name, part in found if (name.kind, ":".join(name.fq_name)) != meant)
    ordered = sorted(others, key=lambda one: (one[0], in_order(one[1])))
    shown = [{**of_name(live.world, name), "part": part} for name, part in ordered[:_SHOWN]]
    return Dependents(shown, len(ordered), len(asked) <= _EVALUATED)


def _over_facts(world: LiveWorld, key: Key, readers: Iterable[Key]) -> Iterator[Key]:
    """Yield ``readers``, the intents of their facts, and the readers of these, breadth first."""
    waiting, seen = deque(sorted(readers)), {key}
    while waiting:
        intent = waiting.popleft()
        if intent in seen:
            continue
        seen.add(intent)
        yield intent
        for fact in sorted(world.facts_of(intent)):
            news = {*world.reads.readers(fact_read(*fact)), *world.reads.readers(presence_read(*fact))}
            if fact.kind in world.intent_kinds:
                news.add(fact)
            waiting.extend(sorted(news - seen))
