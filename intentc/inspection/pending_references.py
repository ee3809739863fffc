"""Counts and lists the references whose target does not exist, and finds those to one name.

Why counted in the background, in slices, and only after a change: ``/status`` is read every second, and a look at every
reference of 100,000 resources takes most of a second. Only a count that takes less than 10 ms is repeated within a
request.

State: the last count, how long it took, and examples.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from intentc.engine.slices import Slice, blocks
from intentc.inspection.identities import Document, of_key
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
    work, ending = Slice(), f":{text}"
    found: set[str] = set()
    for block in blocks(world.cache.graph.wanted()):
        names = (value for _, _, to, by, value in block if to == kind and by == FQ_NAME)
        found.update(name for name in names if name == text or name.endswith(ending))
        await work.rest()
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
            self._count_at_once()
        return self.count

    def still(self) -> tuple[Pending, ...]:
        """Return the examples that are still pending."""
        pending = self._world.cache.graph.pending_of
        return tuple(example for example in self.examples if example in pending(example.key))

    async def look(self) -> None:
        """Count once. Changes meanwhile may be missed; ``run`` then counts again."""
        revision, began, turn = self._world.revision, time.monotonic(), Slice()
        counting = _Counting()
        for key in self._world.cache:
            counting.add(self._world.cache.graph.pending_of(key))
            await turn.rest()
        self._note(counting, revision, began)

    def _count_at_once(self) -> None:
        revision, began, counting = self._world.revision, time.monotonic(), _Counting()
        for key in self._world.cache:
            counting.add(self._world.cache.graph.pending_of(key))
        self._note(counting, revision, began)

    def _note(self, counting: _Counting, revision: int, began: float) -> None:
        self.count, self.examples = counting.count, tuple(counting.examples)
        self._counted_at, self._took = revision, time.monotonic() - began


class _Counting:
    def __init__(self) -> None:
        self.count = 0
        self.examples: list[Pending] = []

    def add(self, found: Iterable[Pending]) -> None:
        for pending in found:
            if self.count < _EXAMPLES:
                self.examples.append(pending)
            self.count += 1


_BLOCK = 200
"""Resources between two looks at the clock."""


async def pending_page(world: LiveWorld, offset: int, limit: int) -> dict[str, Any]:
    """Return ``{"total", "offset", "limit", "pending_references": [{"holder", "relation", "target"}]}``. The order is
    arbitrary, and stable while nothing changes."""
    work = Slice()
    rows: list[dict[str, str]] = []
    total = 0
    for kind in sorted(world.cache.stored):
        for place, state in enumerate(world.cache.states(kind)):
            for key, link in world.cache.graph.pending_of(state.key):
                if offset <= total < offset + limit:
                    rows.append({"holder": str(key), "relation": link.relation, "target": f"{link.kind} {link.value}"})
                total += 1
            if place % _BLOCK == 0:
                await work.rest()
    return {"total": total, "offset": offset, "limit": limit, "pending_references": rows}


def every_pending(world: LiveWorld) -> list[dict[str, str]]:
    """The references whose target has not arrived: ``{"holder", "relation", "target"}`` each. Looks at every resource
    at once."""
    return [
        {"holder": str(key), "relation": link.relation, "target": f"{link.kind} {link.value}"}
        for key, link in world.cache.graph.pending()
    ]
