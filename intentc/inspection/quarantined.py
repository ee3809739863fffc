"""Lists what needs operator action, a page at a time: unreadable, held, rejected, contended, paused, withheld.

An entry is built only if it is shown, and what stands before a page is skipped in slices: there may be 100,000.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import aclosing
from itertools import islice
from typing import Any

from intentc.engine.live import Live
from intentc.engine.operator_actions import DROPPED, SUSPECT
from intentc.engine.state_tables import PAUSED, StateTables
from intentc.inspection.identities import of_key
from intentc.inspection.traversal import sliced
from intentc.logic import LiveWorld
from intentc.model import Key, Name, Problem
from intentc.reconcile import Quarantine

Entry = dict[str, Any]
_STATES = {PAUSED: "paused", SUSPECT: "suspect"}


def held_count(world: LiveWorld, states: StateTables) -> int:
    """The number of held intents and resources, those whose values can't be read included."""
    return len(world.held) + len(states.held) - _both(states.held, world.held)


def held_first(world: LiveWorld, states: StateTables, most: int) -> list[Key]:
    """At most ``most`` of the held ones, those that can't be read before others, sorted."""
    unreadable, held = world.held, states.held
    first = {*islice(unreadable, most), *islice((key for key in held if key not in unreadable), most)}
    return sorted(first)[:most]


def paused_intents(world: LiveWorld, states: StateTables) -> list[tuple[Key, Problem]]:
    """The intents that are held because an operator paused them, with the pause."""
    held = ((key, states.held.get(key)) for key in states.stopped if key not in world.held)
    return [(key, entry.problem) for key, entry in held if entry is not None and entry.problem.reason == PAUSED]


def held_intents(live: Live) -> tuple[int, Key | None]:
    """The number of intents held for a reason of their own, or with rejected requests; and one of them. Paused intents
    are not counted (``paused_intents``)."""
    states, unreadable = live.states, live.world.held
    paused = {key for key, _ in paused_intents(live.world, live.states)}
    count = _unreadable_intents(live.world) + len(states.held) + len(states.rejected_requests)
    count -= _both(states.held, unreadable)
    count -= sum(key in states.held or key in unreadable for key in states.rejected_requests)
    count -= len(paused)
    first = (key for table in (unreadable, states.held, states.rejected_requests) for key in table if key not in paused)
    return count, next((key for key in first if key.kind in live.world.intent_kinds), None)


def unreadable_others(world: LiveWorld) -> tuple[int, Key | None]:
    """The number of unreadable values of kinds without intents; and one of them."""
    unreadable, kinds = world.held, world.intent_kinds
    count = len(unreadable) - _unreadable_intents(world)
    return count, next((key for key in unreadable if key.kind not in kinds), None) if count else None


def quarantine_count(live: Live) -> int:
    """The number of entries in the quarantine."""
    states, unreadable = live.states, live.world.held
    return (
        len(unreadable)
        - sum(key in unreadable for key in states.dropped)
        + len(states.held)
        - _both(states.held, unreadable)
        + len(states.rejected_requests)
        + len(states.dropped)
        + len(live.planner.guard.withheld)
        + len(states.rejected)
        + len(states.contended)
        + len(states.left_alone)
    )


def entries(live: Live, offset: int, limit: int) -> list[Entry]:
    """The entries from ``offset`` on, at most ``limit``: ``{"kind", "name", "uuid", "state", "reason", "message",
    "since", "tries", "next_try", "on"}``.

    ``state``: ``unreadable``, ``held``, ``paused``, ``suspect``, ``dropped``, ``rejected``, ``contended``, ``withheld``
    (one entry for all deletes of a kind). ``since``: seconds since 1970, None if not kept. ``tries``: failures in a
    row. ``next_try``: when it is tried again by itself (seconds since 1970), None if only a change or an operator
    causes that. ``on``: the unreadable resource that it reads, ``{"kind", "name", "uuid"}``; None if it is held for a
    reason of its own."""
    return [_built(live, *listed) for listed in islice(_listed(live), offset, offset + limit)]


def _listed(live: Live) -> Iterator[tuple[str, Any]]:
    """Yield the state of each entry, and the key, kind or name that it is about, table by table. The tables may change
    in between: removed ones are left out."""
    states, unreadable, guard = live.states, live.world.held, live.planner.guard
    for key in tuple(unreadable):
        if key in unreadable and key not in states.dropped:
            yield "unreadable", key
    for key in tuple(states.held):
        if key in states.held and key not in unreadable:
            yield "held", key
    yield from (("requested", key) for key in tuple(states.rejected_requests) if key in states.rejected_requests)
    yield from (("dropped", key) for key in sorted(states.dropped) if key in states.dropped)
    yield from (("withheld", kind) for kind in sorted(guard.withheld) if kind in guard.withheld)
    for state, table in _object_tables(states).items():
        yield from ((state, name) for name in tuple(table) if name in table)


def _object_tables(states: StateTables) -> dict[str, Quarantine[Name]]:
    return {"rejected": states.rejected, "contended": states.contended, "paused": states.left_alone}


def _built(live: Live, state: str, subject: Any) -> Entry:
    """Return the entry of something that ``_listed`` has yielded just now."""
    states, name_of = live.states, live.world.name_of
    match state:
        case "unreadable":
            return _entry(subject, name_of(subject), live.world.held[subject], state)
        case "held":
            return _held(live, subject)
        case "requested":
            rejected = states.rejected_requests[subject]
            return _entry(subject, rejected.problem.name, rejected.problem, "rejected", rejected.since)
        case "dropped":
            problem = Problem(subject.kind, name_of(subject), DROPPED, "given up until its resource changes")
            return _entry(subject, problem.name, problem, state)
        case "withheld":
            return _withheld(subject, live.planner.guard.withheld[subject])
    held = _object_tables(states)[state][subject]
    entry = _entry(live.planner.key_of(subject), held.problem.name, held.problem, state, held.since)
    return {
        **entry,
        "tries": live.objects.failures(subject),
        "next_try": _moment(live.objects.seconds_left(subject)),
    }


def _held(live: Live, key: Key) -> Entry:
    held, other = live.states.held[key], live.states.held_by.get(key)
    state = _STATES.get(held.problem.reason, "held")
    return {
        **_entry(key, live.world.name_of(key), held.problem, state, held.since),
        "tries": live.jobs.failures(key),
        "next_try": _moment(live.jobs.seconds_left(key)),
        "on": of_key(live.world, other) if other is not None else None,
    }


def _withheld(kind: str, names: Collection[Name]) -> Entry:
    message = f"{len(names)} objects would be deleted at once; if that is meant: `intentc allow-deletes {kind}`"
    name = f"({len(names)} objects)"
    return _entry(Key(kind, ""), name, Problem(kind, name, "DeletesHeld", message), "withheld")


def _entry(key: Key, name: str, problem: Problem, state: str, since: float | None = None) -> Entry:
    """``name``: the name of the resource for people, if it has one."""
    return {
        "kind": key.kind,
        "name": name,
        "uuid": key.uuid,
        "state": state,
        "reason": problem.reason,
        "message": problem.message,
        "since": since,
        "tries": 0,
        "next_try": None,
        "on": None,
    }


def _moment(seconds: float | None) -> float | None:
    """The time in so many seconds, as seconds since 1970."""
    return None if seconds is None else round(time.time() + seconds, 3)


def _unreadable_intents(world: LiveWorld) -> int:
    held_of, kinds = world.cache.held_of, world.intent_kinds
    return sum(count for kind, count in held_of.items() if kind in kinds)


def _both(first: Collection[Key], second: Collection[Key]) -> int:
    """The number of keys in both. They rarely overlap, since an unreadable intent isn't evaluated."""
    fewer, more = sorted((first, second), key=len)
    return sum(key in more for key in fewer)


async def quarantine(live: Live, offset: int, limit: int) -> dict[str, Any]:
    """Return ``{"total", "offset", "limit", "quarantine": [entry]}``, table by table, the oldest first; the form of an
    entry is that of ``entries``."""
    found: list[Entry] = []
    place = 0
    async with aclosing(sliced(_listed(live))) as listed:
        async for state, subject in listed:
            # Most entries are only skipped, so an entry is built only if it is shown.
            if place >= offset and len(found) < limit:
                found.append(_built(live, state, subject))
            place += 1
            if place >= offset + limit:
                break
    return {"total": quarantine_count(live), "offset": offset, "limit": limit, "quarantine": found}
