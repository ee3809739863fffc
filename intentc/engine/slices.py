"""Divides long work into slices of a few milliseconds, so that other tasks get their turn.

asyncio switches tasks only where one waits, and a worker that finds its next job at once never waits
(docs/engine.md §1.7).

State: when the present slice ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TypeVar

_LENGTH = 0.004
"""Seconds."""
_BLOCK = 500

T = TypeVar("T")


def blocks(listed: Sequence[T]) -> Iterator[Sequence[T]]:
    """Blocks of work between two looks at the clock: a fraction of a millisecond each, if an item takes little."""
    for start in range(0, len(listed), _BLOCK):
        yield listed[start : start + _BLOCK]


class Slice:
    """Shared by all workers of a step: together they may hold the loop for one slice."""

    def __init__(self) -> None:
        self._ends = 0.0

    async def rest(self) -> None:
        """Called between two pieces of work: let other tasks run if the slice is over."""
        clock = asyncio.get_running_loop().time
        if clock() >= self._ends:
            await asyncio.sleep(0)
            self._ends = clock() + _LENGTH
