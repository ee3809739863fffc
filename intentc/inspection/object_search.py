"""Searches resources, and claimed objects that can't be created yet, by name, kind and state, a page at a time.

Why in slices: one pass over 100,000 resources takes longer than the loop may be held, and in a thread it would take the
interpreter from the loop for as long. So the resources are gathered at one moment, which is quick, and then read a few
milliseconds at a time. ``resource_states`` computes the state of a resource; a shorter test of the same tables shows
that most are as desired.
"""

from __future__ import annotations

import heapq
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from intentc.diagnostics.questions import ObjectQuery, ObjectState
from intentc.engine.live import Live
from intentc.engine.state_tables import StateTables
from intentc.inspection.finding import kind_of
from intentc.inspection.resource_states import role_of, state_of
from intentc.inspection.traversal import sliced
from intentc.logic import LiveWorld, State, shown
from intentc.model import Key, Name, Problem

_BLOCK = 500
"""Resources that are sorted into the first rows at once: at most a millisecond."""
_CHUNK = 1_000
"""Names that are sorted at once: a millisecond."""
_FEW = 1_000
"""Up to this many first rows are kept sorted in one pass; for more a full sort is cheaper."""


class _Wanted(NamedTuple):
    """A claimed object that doesn't exist, with the attributes of a ``State``."""

    key: Key
    fq_name: tuple[str, ...]


_Row = State | _Wanted
_ORDER = attrgetter("fq_name", "key")


async def objects(live: Live, query: ObjectQuery) -> dict[str, Any]:
    """Return ``{"kinds": {kind: count}, "total", "offset", "rows"}``; ``kinds`` counts all existing resources, whatever
    the query. Raises ``Unanswerable`` for an unknown kind."""
    kind = kind_of(live, query.kind).name if query.kind else ""
    there = {name: states for name in sorted(live.world.cache.stored) if (states := live.world.cache.states(name))}
    counts = {name: len(states) for name, states in there.items()}
    rows: dict[str, list[_Row]] = {name: [*states] for name, states in there.items() if kind in ("", name)}
    async for wanted in _absent(live):
        if kind in ("", wanted.key.kind):
            rows.setdefault(wanted.key.kind, []).append(wanted)
    tests = []
    if query.text:
        tests.append(_has_text(query.text))
    if query.state:
        tests.append(_has_state(live, query.state))
    found = rows
    if tests:
        found = {
            name: [row async for row in sliced(rows[name]) if all(test(row) for test in tests)] for name in sorted(rows)
        }
    return {
        "kinds": counts,
        "total": sum(map(len, found.values())),
        "offset": query.offset,
        "rows": [_document(live, row) async for row in _page(found, query.offset, query.limit)],
    }


async def _absent(live: Live) -> AsyncIterator[_Wanted]:
    """Yield claimed objects that don't exist because something prevents their creation."""
    states = live.states
    found = {*states.object_waits, *states.planned}
    for table in (states.rejected, states.delayed, states.contended, states.left_alone):
        found.update(table)
    async for name in sliced(found):
        if name in live.planner.book and live.world.cache.names.in_force(name.kind, ":".join(name.fq_name)) is None:
            yield _Wanted(Key(name.kind, ""), name.fq_name)


def _has_text(text: str) -> Callable[[_Row], bool]:
    """Return a test for ``text`` in the name, regardless of case, or in the uuid."""
    wanted = text.lower()
    return lambda row: wanted in ":".join(row.fq_name).lower() or wanted in row.key.uuid


def _has_state(live: Live, state: str) -> Callable[[_Row], bool]:
    """Return a test for the state of a row."""
    in_order = _plainly_in_order(live)

    def test(row: _Row) -> bool:
        if in_order(row):
            return state == ObjectState.AS_DESIRED
        return state_of(live, Name(row.key.kind, row.fq_name), _key(row)) == state

    return test


def _plainly_in_order(live: Live) -> Callable[[_Row], bool]:
    """Return a quick test that nearly all resources of a converged world pass; a row that fails may have any state.

    What stops a resource is a snapshot, so that a change of it shows in the next answer; claims, evaluated intents and
    problems of plans are looked up when a row is tested."""
    states, on = live.states, live.planner.book.on
    evaluated, intent_kinds, problems_of_plan = states.evaluated, live.world.intent_kinds, states.problems_of_plan
    if not (live.jobs.settled and live.objects.settled):
        return lambda row: False
    stopped = frozenset(live.world.held).union(states.waiting, states.stopped, states.held, states.rejected_requests)
    tables = (states.left_alone, states.rejected, states.contended, states.delayed)
    concerned = frozenset(states.planned).union(states.object_waits, *tables, *live.planner.guard.withheld.values())

    def test(row: _Row) -> bool:
        key = row.key
        if isinstance(row, _Wanted) or key in stopped or (key.kind in intent_kinds and key not in evaluated):
            return False
        name = Name(key.kind, row.fq_name)
        if name in concerned:
            return False
        if claims := on(name):
            return stopped.isdisjoint(claims) and not problems_of_plan(name)
        resource = shown(row)
        mark = resource.mark if resource is not None else None
        return mark is None or mark.installation != live.world.installation

    return test


async def _page(found: Mapping[str, list[_Row]], offset: int, limit: int) -> AsyncIterator[_Row]:
    """Yield the rows of one page, sorted by kind, then fq_name; the kinds of other pages are not sorted."""
    for rows in found.values():
        if limit <= 0:
            return
        if offset < len(rows):
            for row in await _in_order(rows, offset, limit):
                yield row
                limit -= 1
        offset = max(0, offset - len(rows))


async def _in_order(rows: list[_Row], offset: int, limit: int) -> list[_Row]:
    """Return ``limit`` rows from ``offset`` on in sorted order."""
    end = offset + limit
    if end <= _FEW:
        first: list[_Row] = []
        async for start in sliced(range(0, len(rows), _BLOCK), block=1):
            first = heapq.nsmallest(end, [*first, *rows[start : start + _BLOCK]], key=_ORDER)
        return first[offset:]
    places = range(0, len(rows), _CHUNK)
    chunks = [sorted(rows[start : start + _CHUNK], key=_ORDER) async for start in sliced(places, block=1)]
    merged = [row async for row in sliced(islice(heapq.merge(*chunks, key=_ORDER), end))]
    return merged[offset:]


def _key(row: _Row) -> Key | None:
    return None if isinstance(row, _Wanted) else row.key


def _document(live: Live, row: _Row) -> dict[str, Any]:
    name, key = Name(row.key.kind, row.fq_name), _key(row)
    state = live.world.cache.state(key) if key is not None else None
    resource = shown(state)
    return {
        "kind": name.kind,
        "name": ":".join(name.fq_name) or row.key.uuid,
        "uuid": row.key.uuid,
        "revision": state.mod_revision if state is not None else None,
        "role": role_of(live.world, live.planner, name, key),
        "ours": resource is not None
        and resource.mark is not None
        and resource.mark.installation == live.world.installation,
        "state": state_of(live, name, key),
        "problems": len(set(_problems(live.world, live.states, name, key))),
    }


def _problems(world: LiveWorld, states: StateTables, name: Name, key: Key | None) -> Iterator[Problem]:
    yield from states.problems_of_plan(name)
    for table in (states.rejected, states.delayed, states.contended, states.left_alone):
        if (about := table.get(name)) is not None:
            yield about.problem
    if key is None:
        return
    yield from states.problems_of_run(key)
    for quarantine in (states.held, states.rejected_requests):
        if (entry := quarantine.get(key)) is not None:
            yield entry.problem
    if (unreadable := world.held.get(key)) is not None:
        yield unreadable
