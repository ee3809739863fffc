"""Waits for conditions, with one end for all of them.

A wait ends as soon as its condition holds, so a generous end costs nothing, and a slow machine fails no test. How a
long time is meant by the code itself, tests set the clock; ``unit/test_no_test_depends_on_speed.py`` rejects short
ends and comparisons of elapsed time.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Awaitable, Callable, Iterator

import anyio

PATIENCE = 300.0 if os.environ.get("INTENTC_FAULTS") == "full" else 120.0
"""Seconds; more where the faults strike a large world."""
_TURNS = 20
"""Turns of the loop before there are pauses: another task of this process may make a condition true."""


def pauses(longest: float = 0.1) -> Iterator[float]:
    """Seconds to wait before each next look at something that has no event: short at first, then up to ``longest``,
    since a look costs CPU on both sides. Without end: the caller has one."""
    pause = 0.01
    while True:
        yield pause
        pause = min(pause * 1.4, longest)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition that has no event. Raises ``TimeoutError``."""
    with anyio.fail_after(PATIENCE):
        for turn in itertools.count():
            if condition():
                return
            await anyio.sleep(0 if turn < _TURNS else 0.01)


async def until_true(condition: Callable[[], Awaitable[bool]], within: float = PATIENCE) -> None:
    """Wait for a condition that asks somebody, such as a store. Raises ``TimeoutError``."""
    with anyio.fail_after(within):
        for pause in pauses():
            if await condition():
                return
            await anyio.sleep(pause)
