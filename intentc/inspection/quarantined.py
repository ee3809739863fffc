"""Lists what needs operator action, a page at a time: unreadable, held, rejected, contended, paused, withheld.

An entry is built only if it is shown, and what stands before a page is skipped in slices: there may be 100,000.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from typing import Any

from intentc.engine.live import Live
from intentc.engine.operator_actions import DROPPED, SUSPECT
from intentc.engine.slices import Slice
from intentc.engine.state_tables import PAUSED, StateTables
from intentc.logic import LiveWorld
from intentc.model import Key, Name, Problem
from intentc.reconcile import Quarantine

Entry = dict[str, Any]
_STATES = {PAUSED: "paused", SUSPECT: "suspect"}
_BLOCK = 500


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
    found: list[Entry] = []
    for block in blocks(live, offset, limit):
        found += block
    return found


def blocks(live: Live, offset: int, limit: int) -> Iterator[list[Entry]]:
    """The same one block at a time. The tables may change in between; removed entries are left out."""
    for keys, entry in _tables(live):
        for start in range(0, len(keys), _BLOCK):
            block = keys[start : start + _BLOCK]
            # Most entries are only skipped, so an entry is built only if it is shown.
            found = []
            for key in block:
                build = entry(key)
                if build is None:
                    continue
                if offset:
                    offset -= 1
                elif limit:
                    limit -= 1
                    found.append(build())
            yield found
            if not limit:
                return


_Build = Callable[[], Entry]


def _tables(live: Live) -> Iterator[tuple[tuple[Any, ...], Callable[[Any], _Build | None]]]:
    """The keys of each table, with what builds the entry of a key; None if it was deleted or listed elsewhere."""
    states, unreadable = live.states, live.world.held

    def of_unreadable(key: Key) -> _Build | None:
        problem = unreadable.get(key)
        if problem is None or key in states.dropped:
            return None
        return lambda: _entry(key, live.world.name_of(key), problem, "unreadable", None, 0)

    def of_held(key: Key) -> _Build | None:
        held = states.held.get(key)
        if held is None or key in unreadable:
            return None
        state, tries = _STATES.get(held.problem.reason, "held"), live.jobs.failures
        other = states.held_by.get(key)
        on = {"kind": other.kind, "name": live.world.name_of(other), "uuid": other.uuid} if other is not None else None
        return lambda: {
            **_entry(key, live.world.name_of(key), held.problem, state, held.since, tries(key)),
            "next_try": _moment(live.jobs.seconds_left(key)),
            "on": on,
        }

    def of_numbers(key: Key) -> _Build | None:
        held = states.rejected_requests.get(key)
        return None if held is None else lambda: _entry(key, held.problem.name, held.problem, "rejected", held.since, 0)

    def of_dropped(key: Key) -> _Build | None:
        if key not in states.dropped:
            return None
        name = live.world.name_of(key)
        problem = Problem(key.kind, name, DROPPED, "given up until its resource changes")
        return lambda: _entry(key, name, problem, "dropped", None, 0)

    def of_withheld(kind: str) -> _Build | None:
        names = live.planner.guard.withheld.get(kind)
        return None if names is None else lambda: _withheld(kind, names)

    def of_objects(state: str, table: Quarantine[Name]) -> Callable[[Name], _Build | None]:
        def of_object(name: Name) -> _Build | None:
            held = table.get(name)
            if held is None:
                return None
            tries = live.objects.failures
            return lambda: {
                **_entry(live.planner.key_of(name), held.problem.name, held.problem, state, held.since, tries(name)),
                "next_try": _moment(live.objects.seconds_left(name)),
            }

        return of_object

    yield tuple(unreadable), of_unreadable
    yield tuple(states.held), of_held
    yield tuple(states.rejected_requests), of_numbers
    yield tuple(sorted(states.dropped)), of_dropped
    yield tuple(sorted(live.planner.guard.withheld)), of_withheld
    for state, table in (("rejected", states.rejected), ("contended", states.contended), ("paused", states.left_alone)):
        yield tuple(table), of_objects(state, table)


def _withheld(kind: str, names: Collection[Name]) -> Entry:
    message = f"{len(names)} objects would be deleted at once; if that is meant: `intentc allow-deletes {kind}`"
    name = f"({len(names)} objects)"
    return _entry(Key(kind, ""), name, Problem(kind, name, "DeletesHeld", message), "withheld", None, 0)


def _entry(key: Key, name: str, problem: Problem, state: str, since: float | None, tries: int) -> Entry:
    """``name``: the name of the resource for people, if it has one."""
    return {
        "kind": key.kind,
        "name": name,
        "uuid": key.uuid,
        "state": state,
        "reason": problem.reason,
        "message": problem.message,
        "since": since,
        "tries": tries,
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
    work = Slice()
    found: list[Entry] = []
    for block in blocks(live, offset, limit):
        found += block
        await work.rest()
    return {"total": quarantine_count(live), "offset": offset, "limit": limit, "quarantine": found}
