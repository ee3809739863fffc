"""How much slower than usual the machine is at this moment, for the few tests that bound seconds of CPU.

CPU time grows, too, where others use the same core's caches and units. Such a test measures until it is within its
bound or has tried often enough, and divides by this.
"""

from __future__ import annotations

import time

_USUAL = 0.00065
"""Seconds of CPU that ``_work`` takes on an idle core of the machine on which the bounds were set."""


def slowness() -> float:
    """1.0 on an idle machine, or a quicker one."""
    begun = time.process_time()
    _work()
    return max(1.0, (time.process_time() - begun) / _USUAL)


def _work() -> None:
    found: dict[str, list[int]] = {}
    for number in range(4_000):
        found.setdefault(str(number % 97), []).append(number)
