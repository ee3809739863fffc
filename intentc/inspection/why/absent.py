"""Why an object that nobody claims isn't there: who would make it, and what keeps that one from it.

Who would is known of intents that give no complete answer now, by evaluating them as far as they come; and by where the
object would stand: below a parent that isn't there, or that is there and wants no such object.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from intentc.engine.engine import Engine
from intentc.engine.parts import Parts
from intentc.engine.slices import Slice, blocks
from intentc.model import Key, Kind, Name, claimed

from ..lookup.finding import claimed_of, is_uuid
from ..naming import Document, name_now, of_key
from ..resource_states import IN_ORDER, state_of
from .provenance import may_evaluate
from .waiting import entry, for_intent, summed_up, why_command

_LONGEST = 0.1
"""Seconds for evaluating intents to find one that would claim the object."""
NEVER_CREATED = "There is no such resource: nobody has created it"
"""How the summary of what users make begins."""
_NAMED = 5
"""Intents without an answer that are named, if no better is known."""


class Absence(NamedTuple):
    """``summary``: a sentence. ``owners``: the intents that would make it, as far as known. ``waiting_for``: what would
    have to come."""

    summary: str
    owners: tuple[Key, ...]
    waiting_for: list[Document]


async def absence(engine: Engine, name: Name) -> Absence:
    """Why there is no object ``name``, of which nobody claims anything."""
    parts = engine.parts
    if not engine.intake.listed:
        return Absence(
            "Nothing is known yet: the first listing has not been applied.",
            (),
            [entry("the first listing of etcd", None, "intentc status")],
        )
    kind = parts.schema.kinds[name.kind]
    if not kind.stored:
        return Absence("No intent contributes to this fact.", (), [])
    if is_uuid(":".join(name.fq_name)):
        return Absence("Nothing has this uuid, and nothing that is claimed will have it.", (), [])
    unanswered = await _by_likeness(parts, name)
    claimant = await _claimant(parts, unanswered, name)
    if claimant is not None:
        return _hindered(engine, claimant, "would make it")
    usual = await _usual_claimants(parts, name.kind)
    if (kind.system or usual) and not parts.jobs.idle:
        return Absence(
            "Nobody claims it so far, and not everything has been evaluated yet.",
            (),
            [entry(f"{parts.jobs.pending()} evaluations", None, "intentc status")],
        )
    return (
        _below(engine, name, kind)
        or _perhaps(engine, [key for key in unanswered if key.kind in usual])
        or _nobody(kind.system, bool(usual))
    )


def _below(engine: Engine, name: Name, kind: Kind) -> Absence | None:
    """As far as the place tells why, at which the object would stand."""
    parts, made = engine.parts, kind.system
    for key in _above(parts, name, kind):
        parent = name_now(parts.logic, key)
        if state_of(parts, parent, key) != IN_ORDER:
            return _hindered(engine, key, "may make it")
        if made:
            compiled = " and compiled" if parent.kind in parts.logic.intent_kinds else ""
            return Absence(f"Nobody claims it: {parent} is there{compiled}, and wants no such object.", (), [])
    above, _, own = ":".join(name.fq_name).rpartition(":")
    if not (above and own and made and kind.parents):
        return None
    # Nobody waits for a parent to come: which kind it would be of, and whether it would want this, nobody knows.
    kinds = [parent.kind for parent in kind.parents]
    missing = f"no {kinds[0]}" if len(kinds) == 1 else f"neither a {' nor a '.join(kinds)}"
    return Absence(f"Nobody claims it: there is {missing} {above}, below which it would stand.", (), [])


def _above(parts: Parts, name: Name, kind: Kind) -> Iterator[Key]:
    """The resources that are there and below which an object of this name may stand, the nearest first: the last
    element of a name may hold colons itself."""
    above = ":".join(name.fq_name).rpartition(":")[0]
    while above:
        for parent in kind.parents:
            key = parts.logic.named(parent.kind, (above,))
            if key is not None:
                yield key
        above = above.rpartition(":")[0]


def _perhaps(engine: Engine, possible: list[Key]) -> Absence | None:
    """Intents that give no answer now, of kinds that claim such objects."""
    if not possible:
        return None
    waiting = []
    for key in possible[:_NAMED]:
        intent = of_key(engine.parts.logic, key)
        told = summed_up(for_intent(engine, key))
        waiting.append(
            entry(f"perhaps {intent['kind']} {intent['name']}, which waits for {told}", intent, why_command(intent))
        )
    return Absence(f"Nobody claims it; {len(possible)} that may want it give no answer now.", (), waiting)


def _nobody(system: bool, claimed_otherwise: bool) -> Absence:
    if system:
        return Absence("Nobody claims it.", (), [])
    further = ", and nobody claims it" if claimed_otherwise else ""
    return Absence(f"{NEVER_CREATED}{further}.", (), [])


def _hindered(engine: Engine, key: Key, verb: str) -> Absence:
    """An intent would make it, and is kept from it."""
    parts = engine.parts
    intent = of_key(parts.logic, key)
    state = state_of(parts, name_now(parts.logic, key), key)
    waiting = list(for_intent(engine, key))
    told = summed_up(waiting)
    tail = f": it waits for {told}" if told else ""
    return Absence(f"{intent['kind']} {intent['name']} {verb}, but is {state}{tail}.", (key,), waiting)


async def _by_likeness(parts: Parts, name: Name) -> list[Key]:
    """The intents of which nobody knows now what they want; those first in whose names most elements of the object's
    stand."""
    work, elements, states = Slice(), set(name.fq_name), parts.states
    found: dict[int, dict[Key, None]] = {}
    for block in blocks((*states.waiting, *states.held, *parts.logic.held)):
        for key in block:
            if key.kind in parts.logic.intent_kinds or key in states.held:
                alike = len(elements.intersection(parts.logic.name_of(key).split(":")))
                found.setdefault(alike, {})[key] = None
        await work.rest()
    return [key for alike in sorted(found, reverse=True) for key in found[alike]]


async def _claimant(parts: Parts, intents: list[Key], name: Name) -> Key | None:
    """The first of ``intents`` that claims the object before it comes to where it waits or fails."""
    work, ends, joined = Slice(), time.monotonic() + _LONGEST, str(name)
    for key in intents:
        if time.monotonic() > ends:
            return None
        if may_evaluate(parts, key) and any(str(claimed(claim)) == joined for claim in parts.runner.explain(key).begun):
            return key
        await work.rest()
    return None


async def _usual_claimants(parts: Parts, kind: str) -> set[str]:
    """The kinds of the intents that claim objects of ``kind``."""
    work = Slice()
    found: set[str] = set()
    for name in await claimed_of(parts, kind):
        found.update(origin.kind for origin in parts.book.on(name))
        await work.rest()
    return found
