"""Lists what follows from an input: its outputs, its dangling references, and its readers.

``dependents`` finds the outputs of other intents, ``inspection/outputs.py`` shows outputs as objects.

It reads the engine and changes nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from intentc.engine.live import Live
from intentc.engine.slices import Slice
from intentc.logic import LiveWorld
from intentc.logic.answering import reads_of_resource
from intentc.model import Key, Name
from intentc.model.resolvers import FQ_NAME, UUID
from intentc.planning import Planner

from ..naming import Document, of_key, of_name
from ..resource_states import AS_DESIRED, state_of
from .part_sources import stored_behind

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
