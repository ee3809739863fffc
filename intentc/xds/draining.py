"""Which clusters an old filter chain may still ask, and until when.

Why it exists: Envoy serves an open connection with the filter chain that accepted it until its drain time is over. Such
a chain still asks the clusters of authorization, rate limits, logs and tracing that its listener named. A cluster that
a listener no longer names is kept until every Envoy has answered the change, and from then on for the drain time.

Pure bookkeeping by names of clusters; what is served is decided by ``world``.
"""

from __future__ import annotations

import time
from collections.abc import Callable

ENVOYS_DEFAULT_SECONDS = 600.0
"""Envoy's ``--drain-time-s`` where nobody sets it."""


class Draining:
    """Clusters that listeners named. ``seconds``: Envoy's drain time, 0 keeps nothing; ``clock`` gives seconds."""

    def __init__(self, seconds: float = ENVOYS_DEFAULT_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._unanswered: dict[str, int] = {}
        self._until: dict[str, float] = {}

    def keep(self, cluster: str, serial: int) -> None:
        """A listener no longer names ``cluster``, as Envoys learn with the publication ``serial``."""
        if self._seconds > 0:
            self._until.pop(cluster, None)
            self._unanswered[cluster] = serial

    def answered(self, serial: float) -> None:
        """Every Envoy has answered everything up to ``serial``: the time of the clusters left by then begins."""
        for cluster in [cluster for cluster, left in self._unanswered.items() if left <= serial]:
            del self._unanswered[cluster]
            self._until[cluster] = self._clock() + self._seconds

    def keeps(self, cluster: str) -> bool:
        """Whether an old filter chain may still ask ``cluster``."""
        return cluster in self._unanswered or cluster in self._until

    def ended(self) -> list[str]:
        """Forget, and return in order, the clusters whose time is over."""
        now = self._clock()
        over = sorted(cluster for cluster, until in self._until.items() if until <= now)
        for cluster in over:
            del self._until[cluster]
        return over

    def wait(self) -> float | None:
        """Seconds until the next ends; None while no time runs."""
        return max(0.0, min(self._until.values()) - self._clock()) if self._until else None
