"""How long a test waits for a condition before it fails: one end for all of them.

A wait ends as soon as its condition holds, so a generous end costs nothing, and a slow machine fails no test. How a
long time is meant by the code itself, tests set the clock; ``unit/test_no_test_depends_on_speed.py`` refuses short
ends and comparisons of elapsed time.
"""

from __future__ import annotations

from collections.abc import Iterator

PATIENCE = 120.0
"""Seconds."""


def pauses(longest: float = 0.1) -> Iterator[float]:
    """Seconds to wait before each next look at something that has no event: short at first, then up to ``longest``,
    since a look costs CPU on both sides. Without end: the caller has one."""
    pause = 0.01
    while True:
        yield pause
        pause = min(pause * 1.4, longest)
