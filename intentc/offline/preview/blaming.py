"""Attributes a change of an object's part to the input's resources that its reasons cite, before or after.

Why it exists: the intent that claims an object need not have caused its change. A rule of one group's list is removed
because another group is deleted; only the rule's reasons show that. They are computed before the compilers see the
input, and again after. A compiler without reasons of its own attributes nothing here.

It reads the views of a trial's engine, and evaluates intents there for their reasons, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from intentc.engine.live import Live
from intentc.engine.state_tables import StateTables
from intentc.logic import LiveWorld
from intentc.logic.answering import reads_of_resource
from intentc.model import Key, Name
from intentc.model.reads import fact_read, presence_read

_MOST = 2_000
"""Most intents that are evaluated for their reasons."""

Blame = Mapping[Name, Mapping[str, frozenset[Key]]]
"""Object → part → the input's resources that a reason for it cites."""


def blame(live: Live, given: Mapping[tuple[str, str], Key]) -> Blame:
    """Compute the blame as of now. ``given``: kind and name of each of the input's resources → its key."""
    found: dict[Name, dict[str, frozenset[Key]]] = {}
    for intent in _concerned(live.world, live.states, given.values()):
        for name, reasons in live.runner.explain(intent).reasons.items():
            parts_of_object = found.setdefault(name, {})
            for reason in reasons:
                cited = {(source.kind, source.name) for source in reason.sources} & given.keys()
                keys = parts_of_object.get(reason.part, frozenset())
                parts_of_object[reason.part] = keys | {given[one] for one in cited}
    return found


def blamed(blame: Mapping[str, frozenset[Key]], paths: Iterable[str]) -> frozenset[Key]:
    """Return the resources that the reasons of the parts at, within or around ``paths`` cite. If no such part has
    reasons, use those of the whole object."""
    wanted = list(paths)
    met = frozenset(key for part, keys in blame.items() if any(_meet(part, path) for path in wanted) for key in keys)
    return met or blame.get("", frozenset())


def _concerned(world: LiveWorld, states: StateTables, given: Iterable[Key]) -> list[Key]:
    """Return the intents of ``given`` and those that read them, also through facts; held ones are left out."""
    waiting = dict.fromkeys(key for key in given if world.exists(key))
    for key in tuple(waiting):
        for read in reads_of_resource(world, key):
            waiting |= dict.fromkeys(sorted(world.reads.readers(read)))
    seen: dict[Key, None] = {}
    order = list(waiting)[::-1]
    while order and len(seen) < _MOST:
        key = order.pop()
        if key in seen:
            continue
        seen[key] = None
        for fact in world.facts_of(key):
            order += world.reads.readers(fact_read(*fact)) | world.reads.readers(presence_read(*fact)) | {fact}
    return [key for key in seen if key.kind in world.intent_kinds and key not in states.held]


def _meet(part: str, path: str) -> bool:
    """Return whether one of two parts is within the other; the object itself contains no part."""
    short, long = sorted((part, path), key=len)
    return short == long or (bool(short) and long.startswith((f"{short}.", f"{short}[")))
