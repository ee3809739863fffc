"""How fast the engine works, and since when things stand as they do: looked at once a second, never on the way.

Why sampled: rates and times of this sort are for people; counting them where the work is done would cost each piece of
it. What is counted is the engine's own integers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

_SPAN = 10.0
"""Seconds over which rates are told."""


class Sample(NamedTuple):
    """What was counted at ``at`` (seconds, never back)."""

    at: float
    evaluations: int
    writes: int


class Rates:
    """``clock``: seconds, never back; ``now``: seconds since 1970. Call ``look`` every second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, now: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._now = now
        self._samples: deque[Sample] = deque()
        self.away_since: float | None = None
        """Since when (seconds since 1970) the API server can't be reached; None: it can."""
        self.busy_since: float | None = None
        """Since when the engine has not converged; None: it has."""

    def look(self, *, evaluations: int, writes: int, reachable: bool, converged: bool) -> None:
        """Note how things stand: how many evaluations and writes there were in all."""
        at = self._clock()
        self._samples.append(Sample(at, evaluations, writes))
        while len(self._samples) > 2 and self._samples[1].at <= at - _SPAN:
            self._samples.popleft()
        self.away_since = None if reachable else self.away_since or self._now()
        self.busy_since = None if converged else self.busy_since or self._now()

    @property
    def busy_seconds(self) -> float:
        """For how long the engine has not converged; 0 if it has."""
        return max(0.0, self._now() - self.busy_since) if self.busy_since is not None else 0.0

    def rates(self) -> dict[str, float]:
        """``evaluations`` and ``writes`` a second, over the last ten seconds or as long as it has been looked at."""
        if len(self._samples) < 2:
            return {"evaluations": 0.0, "writes": 0.0}
        first, last = self._samples[0], self._samples[-1]
        seconds = last.at - first.at
        return {
            "evaluations": round((last.evaluations - first.evaluations) / seconds, 1),
            "writes": round((last.writes - first.writes) / seconds, 1),
        }
