"""Explains why an unclaimed object does not exist: which intent would create it, and what prevents that.

Candidates are intents that wait or are held: they are evaluated up to the point where they stop. Failing that, the
object's parent explains it: the parent is missing, or its intent claims no such object.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import aclosing
from typing import NamedTuple

from intentc.diagnostics.questions import ObjectState
from intentc.engine.live import Live
from intentc.inspection.awaited import entry, for_intent, summed_up, why_command
from intentc.inspection.finding import claimed_of
from intentc.inspection.identities import Document, name_now, of_key
from intentc.inspection.part_sources import may_evaluate
from intentc.inspection.resource_states import state_of
from intentc.inspection.traversal import sliced
from intentc.logic import LiveWorld
from intentc.model import Key, Kind, Name, claimed, is_uuid

_LONGEST = 0.1
"""Seconds spent on evaluating intents to find one that would claim the object."""
NEVER_CREATED = "There is no such resource: nobody has created it"
"""The beginning of the summary for a kind that users create."""
_NAMED = 5
"""Unfinished intents that are named as candidates."""


class Absence(NamedTuple):
    """``summary``: a sentence. ``owners``: the intents that would create the object, if known. ``waiting_for``: what
    must happen first."""

    summary: str
    owners: tuple[Key, ...]
    waiting_for: list[Document]


async def absence(live: Live, name: Name) -> Absence:
    """Explain why the unclaimed object ``name`` does not exist."""
    if not live.world.listed:
        return Absence(
            "Nothing is known yet: the first listing has not been applied.",
            (),
            [entry("the first listing of etcd", None, "intentc status")],
        )
    kind = live.world.schema.kinds[name.kind]
    if not kind.stored:
        return Absence("No intent contributes to this fact.", (), [])
    if is_uuid(":".join(name.fq_name)):
        return Absence("Nothing has this uuid, and nothing that is claimed will have it.", (), [])
    unanswered = await _by_likeness(live, name)
    claimant = await _claimant(live, unanswered, name)
    if claimant is not None:
        return _hindered(live, claimant, "would create it")
    claims = sliced(await claimed_of(live.planner, name.kind))
    usual = {origin.kind async for other in claims for origin in live.planner.book.on(other)}
    if (kind.system or usual) and not live.jobs.idle:
        return Absence(
            "No intent claims it so far, and not everything has been evaluated yet.",
            (),
            [entry(f"{live.jobs.pending()} evaluations", None, "intentc status")],
        )
    known = _below(live, name, kind) or _perhaps(live, [key for key in unanswered if key.kind in usual])
    if known is not None or kind.system:
        return known or Absence("No intent claims it.", (), [])
    return Absence(f"{NEVER_CREATED}{', and no intent claims it' if usual else ''}.", (), [])


def _below(live: Live, name: Name, kind: Kind) -> Absence | None:
    """Explain the absence by the object's possible parents; None if they don't explain it."""
    for key in _above(live.world, name, kind):
        parent = name_now(live.world, key)
        if state_of(live, parent, key) != ObjectState.AS_DESIRED:
            return _hindered(live, key, "may create it")
        if kind.system:
            compiled = " and is compiled" if parent.kind in live.world.intent_kinds else ""
            return Absence(f"No intent claims it: {parent} exists{compiled}, and needs no such object.", (), [])
    above, _, own = ":".join(name.fq_name).rpartition(":")
    if not (above and own and kind.system and kind.parents):
        return None
    # A missing parent is no entry of ``waiting_for``: its kind is unknown, and whether its intent would claim this.
    kinds = [parent.kind for parent in kind.parents]
    missing = f"no {kinds[0]}" if len(kinds) == 1 else f"neither a {' nor a '.join(kinds)}"
    return Absence(f"No intent claims it: there is {missing} {above}, which would be its parent.", (), [])


def _above(world: LiveWorld, name: Name, kind: Kind) -> Iterator[Key]:
    """Yield the existing resources that may be the object's parent, the nearest first: the last element of a name may
    contain colons."""
    above = ":".join(name.fq_name).rpartition(":")[0]
    while above:
        for parent in kind.parents:
            key = world.named(parent.kind, (above,))
            if key is not None:
                yield key
        above = above.rpartition(":")[0]


def _perhaps(live: Live, possible: list[Key]) -> Absence | None:
    """Name unfinished intents of kinds that claim such objects; None without any."""
    if not possible:
        return None
    waiting = []
    for key in possible[:_NAMED]:
        intent = of_key(live.world, key)
        awaited = summed_up(for_intent(live, key))
        what = f"perhaps {intent['kind']} {intent['name']}, which waits for {awaited}"
        waiting.append(entry(what, intent, why_command(intent)))
    return Absence(f"No intent claims it; {len(possible)} that may claim it can't be compiled now.", (), waiting)


def _hindered(live: Live, key: Key, verb: str) -> Absence:
    """Name the intent that would create the object, and what it waits for."""
    intent = of_key(live.world, key)
    state = state_of(live, name_now(live.world, key), key)
    waiting = list(for_intent(live, key))
    awaited = summed_up(waiting)
    tail = f": it waits for {awaited}" if awaited else ""
    return Absence(f"{intent['kind']} {intent['name']} {verb}, but is {state}{tail}.", (key,), waiting)


async def _by_likeness(live: Live, name: Name) -> list[Key]:
    """Return the unfinished intents; those first that share most name elements with the object."""
    elements, states = set(name.fq_name), live.states
    found: dict[int, dict[Key, None]] = {}
    async for key in sliced((*states.waiting, *states.held, *live.world.held)):
        if key.kind in live.world.intent_kinds or key in states.held:
            alike = len(elements.intersection(live.world.name_of(key).split(":")))
            found.setdefault(alike, {})[key] = None
    return [key for alike in sorted(found, reverse=True) for key in found[alike]]


async def _claimant(live: Live, intents: list[Key], name: Name) -> Key | None:
    """Return the first of ``intents`` that claims the object before it waits or fails."""
    ends, joined = time.monotonic() + _LONGEST, str(name)
    async with aclosing(sliced(intents, block=1)) as keys:
        async for key in keys:
            if time.monotonic() > ends:
                return None
            if may_evaluate(live.world, live.states, key) and any(
                str(claimed(claim)) == joined for claim in live.runner.explain(key).begun
            ):
                return key
    return None
