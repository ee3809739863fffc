"""Lists what follows from a higher-level resource: its outputs, its dangling references, and its readers."""

from __future__ import annotations

from typing import NamedTuple

from intentc.engine.parts import Parts
from intentc.engine.slices import Slice
from intentc.logic import Service
from intentc.logic.answering import reads_of_resource
from intentc.model import Key, Name
from intentc.model.resolvers import FQ_NAME, UUID

from ..naming import Document, of_key, of_name
from ..resource_states import IN_ORDER, state_of
from .provenance import stored_behind

_SHOWN = 100


class Outputs(NamedTuple):
    """``shown``: the first outputs as JSON, those not in order first. Each has the number of other resources that it
    also follows from. ``total``: how many there are; ``amiss``: how many are not in order."""

    shown: list[Document]
    total: int
    amiss: int


async def outputs(parts: Parts, key: Key) -> Outputs:
    """Return the objects that an intent claims, except its own resource, and those that the intents of its facts
    claim."""
    work = Slice()
    states: dict[Name, str] = {}
    for name in sorted(_claimed(parts, key)):
        made = parts.logic.named(*name)
        if made != key:
            states[name] = state_of(parts, name, made)
        await work.rest()
    ordered = sorted(states, key=lambda name: states[name] == IN_ORDER)
    shown = []
    for name in ordered[:_SHOWN]:
        resource = of_name(parts.logic, name)
        others = set(stored_behind(parts.logic, parts.book.on(name))) - {key}
        exists = bool(resource["uuid"])
        shown.append({**resource, "exists": exists, "state": states[name], "with_others": len(others)})
        await work.rest()
    return Outputs(shown, len(states), sum(state != IN_ORDER for state in states.values()))


def missing(logic: Service, key: Key) -> list[Document]:
    """Return ``{"relation", "target"}`` for each dangling reference by uuid or name."""
    resource = logic.cache.shown(key)
    if resource is None:
        return []
    links = (link for link in resource.links if link.by in (UUID, FQ_NAME))
    return [
        {"relation": link.relation, "target": f"{link.kind} {link.value}"}
        for link in links
        if not logic.cache.graph.resolve(resource.kind, link)
    ][:_SHOWN]


def readers_of(logic: Service, key: Key) -> frozenset[Key]:
    """Return the intents that read something of a resource, except its own."""
    return frozenset(r for read in reads_of_resource(logic, key) for r in logic.reads.readers(read)) - {key}


def concerns(logic: Service, readers: frozenset[Key]) -> tuple[list[Document], int]:
    """Return the first of ``readers`` as JSON, and their number."""
    return [of_key(logic, reader) for reader in sorted(readers)[:_SHOWN]], len(readers)


def _claimed(parts: Parts, key: Key) -> set[Name]:
    found: set[Name] = set()
    seen = {key}
    waiting = [key]
    while waiting:
        intent = waiting.pop()
        found.update(parts.book.of(intent))
        news = {fact for fact in parts.logic.facts_of(intent) if fact.kind in parts.logic.intent_kinds} - seen
        seen |= news
        waiting.extend(news)
    return found
