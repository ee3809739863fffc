"""The longest time for which one callback held the event loop, in CPU seconds of its thread.

CPU, not time: a busy machine interrupts a callback for as long as it likes, and what counts is what the callback itself
does while nobody else is served. The loop must run in the thread that enters the block.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LONGEST = 0.05
"""CPU seconds that a callback may take at most."""


class Holds:
    """``longest``: CPU seconds; ``by``: the callback."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.by = ""

    def forget(self) -> None:
        """Measure anew."""
        self.longest, self.by = 0.0, ""


@contextmanager
def measured_holds() -> Iterator[Holds]:
    """Measure each callback until the block is left. Garbage is collected before it, and not within it: how long that
    takes depends on what else the process has."""
    holds, run = Holds(), asyncio.Handle._run

    def measured(handle: Any) -> None:
        begun = time.thread_time()
        run(handle)
        taken = time.thread_time() - begun
        if taken > holds.longest:
            holds.longest, holds.by = taken, repr(handle)

    gc.collect()
    gc.disable()
    asyncio.Handle._run = measured  # type: ignore[method-assign,assignment]
    try:
        yield holds
    finally:
        asyncio.Handle._run = run  # type: ignore[method-assign]
        gc.enable()
