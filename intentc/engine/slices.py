"""Nobody holds the loop for long: work that never waits gives the others their turn after a few milliseconds.

asyncio switches tasks only where one waits, and a worker that finds its next job at once never does
(docs/engine.md §1.7).
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
    """What is looked at between two looks at the clock: a fraction of a millisecond each, if little is done with it."""
    for start in range(0, len(listed), _BLOCK):
        yield listed[start : start + _BLOCK]


class Slice:
    """One for all workers of a step: together they may hold the loop for one slice."""

    def __init__(self) -> None:
        self._ends = 0.0

    async def rest(self) -> None:
        """Between two pieces of work: let the others have their turn if the slice is over."""
        clock = asyncio.get_running_loop().time
        if clock() >= self._ends:
            await asyncio.sleep(0)
            self._ends = clock() + _LENGTH
