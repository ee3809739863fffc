"""The suite's time by directory: seconds of CPU, processes that tests start included, shown at the end of a run.

CPU is what counts: how long a run takes says more about what else the machine does. A module's share is what this
process and its descendants have used between its first test and the next module's, running servers included, read from
``/proc``; elsewhere than on Linux only what has ended counts.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")
_SHOWN = 0.05
"""Seconds below which a directory is not worth a line."""


class Spent:
    """``by_directory``: seconds so far; the collection of tests is the root's."""

    def __init__(self) -> None:
        self.by_directory: defaultdict[str, float] = defaultdict(float)
        self._before = 0.0

    def until_now(self, directory: str) -> None:
        """What was used since the last call is this directory's."""
        now = _used()
        self.by_directory[directory] += max(0.0, now - self._before)
        self._before = max(self._before, now)


def lines(by_directory: Mapping[str, float]) -> list[str]:
    """A line each, the largest first, and the sum."""
    shown = sorted(((seconds, name) for name, seconds in by_directory.items() if seconds >= _SHOWN), reverse=True)
    return [f"{seconds:8.1f} s  {name}" for seconds, name in [*shown, (sum(by_directory.values()), "in all")]]


def _used() -> float:
    """By this process, its descendants, and those of them that have ended."""
    own = os.times()
    return own.user + own.system + own.children_user + own.children_system + sum(map(_of, _children(os.getpid())))


def _of(pid: int) -> float:
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS + sum(map(_of, _children(pid)))


def _children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in (_PROC / str(pid) / "task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    except OSError:
        return found
    return found


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
