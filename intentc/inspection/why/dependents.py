"""Which objects need a resource although others make them: their reasons name it as a source.

Why beside the outputs: those are what a resource's own intent claims; the rule that lets another group's ports in
stands in that group's list. Found through those who read the resource, who are evaluated once more to be told why: only
so many, and in slices. What deleting it would really change, only a plan tells.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from intentc.engine.parts import Parts
from intentc.engine.slices import Slice
from intentc.logic import Service
from intentc.model import Key, Name
from intentc.model.reads import fact_read, presence_read

from ..naming import Document, of_name
from .provenance import in_order, may_evaluate

_EVALUATED = 200
"""Readers that are evaluated."""
_SHOWN = 100


class Needing(NamedTuple):
    """``shown``: ``{"kind", "name", "uuid", "part"}`` of the first of them; ``total``: how many were found; ``whole``:
    whether all readers were looked at."""

    shown: list[Document]
    total: int
    whole: bool


async def needing(parts: Parts, key: Key, readers: Iterable[Key]) -> Needing:
    """The parts that a reason of one of ``readers``, or of whom their facts lead to, gives ``key`` as a source for."""
    work, found = Slice(), set[tuple[Name, str]]()
    meant = (key.kind, parts.logic.name_of(key))
    asked = await _over_facts(parts.logic, key, readers)
    for intent in asked[:_EVALUATED]:
        if may_evaluate(parts, intent):
            for name, reasons in parts.runner.explain(intent).reasons.items():
                for reason in reasons:
                    if any((source.kind, source.name) == meant for source in reason.sources):
                        found.add((name, reason.part))
        await work.rest()
    others = ((name, part) for name, part in found if (name.kind, ":".join(name.fq_name)) != meant)
    ordered = sorted(others, key=lambda one: (one[0], in_order(one[1])))
    shown = [{**of_name(parts.logic, name), "part": part} for name, part in ordered[:_SHOWN]]
    return Needing(shown, len(ordered), len(asked) <= _EVALUATED)


async def _over_facts(logic: Service, key: Key, readers: Iterable[Key]) -> list[Key]:
    """``readers``, and the intents of their facts, and who reads these; as many as may be asked, and one more."""
    work, found = Slice(), dict[Key, None]()
    waiting = sorted(readers, reverse=True)
    while waiting and len(found) <= _EVALUATED:
        intent = waiting.pop()
        if intent in found or intent == key:
            continue
        found[intent] = None
        for fact in sorted(logic.facts_of(intent)):
            news = {*logic.reads.readers(fact_read(*fact)), *logic.reads.readers(presence_read(*fact))}
            if fact.kind in logic.intent_kinds:
                news.add(fact)
            waiting[:0] = sorted(news - found.keys(), reverse=True)
        await work.rest()
    return list(found)
