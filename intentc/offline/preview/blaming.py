"""On whose account a part of an object changes: the resources of an input that its reasons name, before or after.

Why it exists: who claims an object need not be who is to blame for its change. A rule of one group's list goes since
another group does; the reasons of that rule say so. They are asked for while the compilers have not seen the input yet,
and once more when they have; a compiler that tells none is silent here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from intentc.engine.parts import Parts
from intentc.logic.answering import reads_of_resource
from intentc.model import Key, Name
from intentc.model.reads import fact_read, presence_read

_MOST = 2_000
"""Intents that are evaluated to be told their reasons."""

Blame = Mapping[Name, Mapping[str, frozenset[Key]]]
"""Object → part → the input's resources that a reason for it names."""


def blame(parts: Parts, given: Mapping[tuple[str, str], Key]) -> Blame:
    """As things stand now. ``given``: kind and name of each of the input's resources → its key."""
    found: dict[Name, dict[str, frozenset[Key]]] = {}
    for intent in _concerned(parts, given.values()):
        for name, reasons in parts.runner.explain(intent).reasons.items():
            told = found.setdefault(name, {})
            for reason in reasons:
                named = {(source.kind, source.name) for source in reason.sources} & given.keys()
                told[reason.part] = told.get(reason.part, frozenset()) | {given[one] for one in named}
    return found


def blamed(blame: Mapping[str, frozenset[Key]], paths: Iterable[str]) -> frozenset[Key]:
    """The resources that the reasons of the parts at ``paths`` of one object name, and of what is in these parts; where
    no part has a reason of its own, those that the reasons of the whole object name."""
    wanted = list(paths)
    met = frozenset(key for part, keys in blame.items() if any(_meet(part, path) for path in wanted) for key in keys)
    return met or blame.get("", frozenset())


def _concerned(parts: Parts, given: Iterable[Key]) -> list[Key]:
    """The intents that read one of ``given``, over facts, too, and its own; without those that give no answer."""
    logic, states = parts.logic, parts.states
    waiting = dict.fromkeys(key for key in given if logic.exists(key))
    for key in tuple(waiting):
        for read in reads_of_resource(logic, key):
            waiting |= dict.fromkeys(sorted(logic.reads.readers(read)))
    seen: dict[Key, None] = {}
    order = list(waiting)[::-1]
    while order and len(seen) < _MOST:
        key = order.pop()
        if key in seen:
            continue
        seen[key] = None
        for fact in logic.facts_of(key):
            order += logic.reads.readers(fact_read(*fact)) | logic.reads.readers(presence_read(*fact)) | {fact}
    return [key for key in seen if key.kind in logic.intent_kinds and key not in states.held]


def _meet(part: str, path: str) -> bool:
    """Whether one of two places is within the other; the object itself is a place of its own."""
    short, long = sorted((part, path), key=len)
    return short == long or (bool(short) and long.startswith((f"{short}.", f"{short}[")))
