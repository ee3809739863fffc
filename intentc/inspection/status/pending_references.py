"""Counts the references whose target does not exist, in the background, in slices, and only after a change.

Why not per request: ``/status`` is read every second, and a look at every reference of 100,000 resources takes most of
a second. Only a count that takes less than 10 ms is repeated within a request. ``details/lists.py`` lists them all on
request.

State: the last count, how long it took, and examples. It reads the engine, and changes nothing there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from intentc.engine.slices import Slice
from intentc.logic import LiveWorld, Pending

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
