"""How many references wait for their target: counted beside the work, in slices, and again only if something changed.

Why not at each question: ``/status`` is asked every second, and a look at each reference of a hundred thousand
resources takes most of one. Listing all of them (``report.pending``) is for whoever asks for the list.
"""

from __future__ import annotations

import asyncio
import time

from ..cache import Pending
from ..logic import Service
from .slices import Slice

_PERIOD = 2.0
"""Seconds between counts at least."""
_SHARE = 50
"""Times what the last count took: counting takes a fiftieth of the time at most."""
_EXAMPLES = 3


class PendingReferences:
    """``count``: as of the last look; ``examples``: the first few."""

    def __init__(self, logic: Service, *, period: float = _PERIOD) -> None:
        self._logic = logic
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
            await asyncio.sleep(max(self._period, _SHARE * took))

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
