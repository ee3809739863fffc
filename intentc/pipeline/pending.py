"""How many references wait for their target: counted beside the work, in slices, and again only if something changed.

Why not at each question: ``/status`` is asked every second, and a look at each reference of a hundred thousand
resources takes most of one. Listing all of them (``report.pending``) is for whoever asks for the list.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from ..cache import Pending
from ..logic import Service
from .slices import Slice

_PERIOD = 2.0
"""Seconds between counts at least."""
_SHARE, _SHARE_AT_REST = 50, 10
"""Times what the last count took: counting takes a fiftieth of the time at most, a tenth if there is little else to
do."""
_EXAMPLES = 3


class PendingReferences:
    """``count``: as of the last look; ``examples``: the first few. ``at_rest``: whether there is little else to do."""

    def __init__(self, logic: Service, at_rest: Callable[[], bool], *, period: float = _PERIOD) -> None:
        self._logic = logic
        self._at_rest = at_rest
        self._period = period
        self.count = 0
        self.examples: tuple[Pending, ...] = ()

    async def run(self) -> None:
        """Count for ever, while something changes."""
        counted_at = -1
        while True:
            took = 0.0
            if counted_at != self._logic.revision:
                counted_at, began = self._logic.revision, time.monotonic()
                await self.look()
                took = time.monotonic() - began
            await asyncio.sleep(max(self._period, (_SHARE_AT_REST if self._at_rest() else _SHARE) * took))

    def still(self) -> tuple[Pending, ...]:
        """Those of the examples that are pending at this very moment."""
        graph = self._logic.cache.graph
        return tuple(example for example in self.examples if example in graph.pending_of(example.key))

    async def look(self) -> None:
        """Count once. What changes meanwhile may be missed; then there is another look."""
        cache, turn = self._logic.cache, Slice()
        count = 0
        examples: list[Pending] = []
        for key in cache:
            for pending in cache.graph.pending_of(key):
                if count < _EXAMPLES:
                    examples.append(pending)
                count += 1
            await turn.rest()
        self.count, self.examples = count, tuple(examples)
