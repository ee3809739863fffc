"""How many references wait for their target: counted beside the work, in slices, and again only if something changed.

Why not at each question: ``/status`` is asked every second, and a look at each reference of a hundred thousand
resources takes most of one. Listing all of them (``report.pending``) is for whoever asks for the list.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from intentc.engine.slices import Slice
from intentc.logic import Service
from intentc.logic.cache import Pending

_PERIOD = 2.0
"""Seconds between counts at least."""
_SHARE, _SHARE_AT_REST = 50, 10
"""Times what the last count took: counting takes a fiftieth of the time at most, a tenth if there is little else to
do."""
_EXAMPLES = 3
_QUICK = 0.01
"""Seconds that a count may take to be made while somebody asks."""


class PendingReferences:
    """``count``: as of the last look; ``examples``: the first few. ``at_rest``: whether there is little else to do."""

    def __init__(self, logic: Service, at_rest: Callable[[], bool], *, period: float = _PERIOD) -> None:
        self._logic = logic
        self._at_rest = at_rest
        self._period = period
        self.count = 0
        self.examples: tuple[Pending, ...] = ()
        self._counted_at = -1
        self._took = 0.0

    async def run(self) -> None:
        """Count for ever, while something changes."""
        while True:
            if self._counted_at != self._logic.revision:
                await self.look()
            share = _SHARE_AT_REST if self._at_rest() else _SHARE
            await asyncio.sleep(max(self._period, share * self._took))

    def now(self) -> int:
        """The count as of this moment where counting is quick, else as of the last look."""
        if self._counted_at != self._logic.revision and 0.0 < self._took < _QUICK:
            self._count_at_once()
        return self.count

    def still(self) -> tuple[Pending, ...]:
        """Those of the examples that are pending at this very moment."""
        graph = self._logic.cache.graph
        return tuple(example for example in self.examples if example in graph.pending_of(example.key))

    async def look(self) -> None:
        """Count once. What changes meanwhile may be missed; then there is another look."""
        revision, began, turn = self._logic.revision, time.monotonic(), Slice()
        counting = _Counting()
        for key in self._logic.cache:
            counting.add(self._logic.cache.graph.pending_of(key))
            await turn.rest()
        self._note(counting, revision, began)

    def _count_at_once(self) -> None:
        revision, began, counting = self._logic.revision, time.monotonic(), _Counting()
        for key in self._logic.cache:
            counting.add(self._logic.cache.graph.pending_of(key))
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
