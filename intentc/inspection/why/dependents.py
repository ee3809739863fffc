"""Finds the outputs of other intents that depend on a resource: their reasons cite it as a source.

Why in addition to the outputs: those are what the resource's own intent claims, but the rule that admits another
group's ports is in that group's list. The intents that read the resource are evaluated once more for their reasons, at
most 200, in slices. Only a plan shows what deleting the resource would change.

It reads the engine; the evaluations change nothing, but the engine remembers one that failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from intentc.engine.live import Live
from intentc.engine.slices import Slice
from intentc.logic import LiveWorld
from intentc.model import Key, Name
from intentc.model.reads import fact_read, presence_read

from ..naming import Document, of_name
from .part_sources import in_order, may_evaluate

_EVALUATED = 200
"""Readers that are evaluated."""
_SHOWN = 100


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
