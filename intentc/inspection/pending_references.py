"""Counts and lists the references whose target does not exist, and finds those to one name.

Why counted in the background, in slices, and only after a change: ``/status`` is read every second, and a look at every
reference of 100,000 resources takes most of a second. Only a count that takes less than 10 ms is repeated within a
request.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from intentc.inspection.identities import Document, of_key
from intentc.inspection.traversal import sliced
from intentc.logic import LiveWorld, Pending
from intentc.model import Name
from intentc.model.names import FQ_NAME

_SHOWN = 100
_NAMED = 3


class DanglingReferences(NamedTuple):
    """``shown``: the first references as ``{"kind", "name", "uuid", "relation"}``; ``total``: how many there are;
    ``sentence``: the same for people, empty if there is none."""

    shown: list[Document]
    total: int
    sentence: str


async def referenced_names(world: LiveWorld, kind: str, text: str) -> list[str]:
    """Return ``text`` if a reference names a resource of ``kind`` so; else the referenced joined names that end with
    it."""
    found = {
        name
        async for _, _, to, by, name in sliced(world.cache.graph.wanted())
        if to == kind and by == FQ_NAME and (name == text or name.endswith(f":{text}"))
    }
    return [text] if text in found else sorted(found)


def dangling_references(world: LiveWorld, name: Name) -> DanglingReferences:
    """Return the references to ``name``, which does not exist, by its fq_name or by a uuid given as its name."""
    found = world.referring_to_name(name)
    shown = [{**of_key(world, key), "relation": relation} for key, relation in sorted(found)[:_SHOWN]]
    holders = list(dict.fromkeys(f"{each['kind']} {each['name']}" for each in shown))
    count = len({key for key, _ in found})
    more = f" and {count - _NAMED} more" if count > _NAMED else ""
    sentence = f"{', '.join(holders[:_NAMED])}{more} {'refer' if count > 1 else 'refers'} to it." if found else ""
    return DanglingReferences(shown, len(found), sentence)


_PERIOD = 2.0
"""Minimum seconds between counts."""
_SHARE, _SHARE_AT_REST = 50, 10
"""Pause between counts in multiples of the last count's duration: counting takes at most 2 % of the time, 10 % while
the engine is idle."""
_EXAMPLES = 3
_BLOCK = 200
"""Resources between two looks at the clock."""
_QUICK = 0.01
"""A count that took fewer seconds than this is repeated within a request."""


class PendingReferences:
    """Keeps ``count``, as of the last look, and the first few ``examples``. ``at_rest``: returns whether the engine is
    idle."""

    def __init__(self, world: LiveWorld, at_rest: Callable[[], bool], *, period: float = _PERIOD) -> None:
        self._world = world
        self._at_rest = at_rest
        self._period = period
        self.count = 0
        self.examples: tuple[Pending, ...] = ()
        self._counted_at = -1
        self._took = 0.0

    async def run(self) -> None:
        """Count again after each change, until cancelled."""
        while True:
            if self._counted_at != self._world.revision:
                await self.look()
            share = _SHARE_AT_REST if self._at_rest() else _SHARE
            await asyncio.sleep(max(self._period, share * self._took))

    def now(self) -> int:
        """Return the count as of now if counting is quick, else as of the last look."""
        if self._counted_at != self._world.revision and 0.0 < self._took < _QUICK:
            revision, began = self._world.revision, time.monotonic()
            pending_of = self._world.cache.graph.pending_of
            self._note([one for key in self._world.cache for one in pending_of(key)], revision, began)
        return self.count

    def still(self) -> tuple[Pending, ...]:
        """Return the examples that are still pending."""
        pending = self._world.cache.graph.pending_of
        return tuple(example for example in self.examples if example in pending(example.key))

    async def look(self) -> None:
        """Count once. Changes meanwhile may be missed; ``run`` then counts again."""
        revision, began = self._world.revision, time.monotonic()
        pending_of = self._world.cache.graph.pending_of
        found = [one async for key in sliced(self._world.cache, _BLOCK) for one in pending_of(key)]
        self._note(found, revision, began)

    def _note(self, found: list[Pending], revision: int, began: float) -> None:
        self.count, self.examples = len(found), tuple(found[:_EXAMPLES])
        self._counted_at, self._took = revision, time.monotonic() - began


async def pending_page(world: LiveWorld, offset: int, limit: int) -> dict[str, Any]:
    """Return ``{"total", "offset", "limit", "pending_references": [{"holder", "relation", "target"}]}``. The order is
    arbitrary, and stable while nothing changes."""
    rows: list[Document] = []
    total = 0
    states = (state for kind in sorted(world.cache.stored) for state in world.cache.states(kind))
    async for state in sliced(states, _BLOCK):
        for pending in world.cache.graph.pending_of(state.key):
            if offset <= total < offset + limit:
                rows.append(_row(pending))
            total += 1
    return {"total": total, "offset": offset, "limit": limit, "pending_references": rows}


def every_pending(world: LiveWorld) -> list[dict[str, str]]:
    """The references whose target has not arrived: ``{"holder", "relation", "target"}`` each. Looks at every resource
    at once."""
    return [_row(pending) for pending in world.cache.graph.pending()]


def _row(pending: Pending) -> Document:
    key, link = pending
    return {"holder": str(key), "relation": link.relation, "target": f"{link.kind} {link.value}"}
