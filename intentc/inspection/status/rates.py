"""Samples the engine's counters once a second and computes rates and the times since it became busy or cut off.

Why sampled: these figures are for people; measuring them in the hot path would cost each evaluation and write. The
samples are the engine's own integers.

State: the samples of the last 10 seconds, and since when it is busy or cut off, in memory. Nothing is decided by them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

_SPAN = 10.0
"""Seconds over which rates are computed."""


class Sample(NamedTuple):
    """The counters at ``at`` (seconds, monotonic)."""

    at: float
    evaluations: int
    writes: int


class Rates:
    """Keeps the samples of the last 10 seconds. ``clock``: monotonic seconds; ``now``: seconds since 1970. Call
    ``look`` every second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, now: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._now = now
        self._samples: deque[Sample] = deque()
        self.away_since: float | None = None
        """Since when (seconds since 1970) the API server can't be reached; None: it can."""
        self.busy_since: float | None = None
        """Since when the engine has not converged; None: it has."""

    def look(self, *, evaluations: int, writes: int, reachable: bool, converged: bool) -> None:
        """Add a sample. ``evaluations``, ``writes``: totals since the start."""
        at = self._clock()
        self._samples.append(Sample(at, evaluations, writes))
        while len(self._samples) > 2 and self._samples[1].at <= at - _SPAN:
            self._samples.popleft()
        self.away_since = None if reachable else self.away_since or self._now()
        self.busy_since = None if converged else self.busy_since or self._now()

    @property
    def busy_seconds(self) -> float:
        """Seconds since the engine last converged; 0 if it has."""
        return max(0.0, self._now() - self.busy_since) if self.busy_since is not None else 0.0

    def rates(self) -> dict[str, float]:
        """Return ``evaluations`` and ``writes`` per second over the last 10 seconds, or since the first sample."""
        if len(self._samples) < 2:
            return {"evaluations": 0.0, "writes": 0.0}
        first, last = self._samples[0], self._samples[-1]
        seconds = last.at - first.at
        return {
            "evaluations": round((last.evaluations - first.evaluations) / seconds, 1),
            "writes": round((last.writes - first.writes) / seconds, 1),
        }
