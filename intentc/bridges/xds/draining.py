"""Keeps clusters and route configurations that old filter chains may still use, until the drain time is over.

Why it exists: Envoy serves an open connection with the filter chain that accepted it until its drain time is over. Such
a chain still uses the clusters for authorization, rate limits, logs and tracing, and the route configuration, that its
listener named. What a listener no longer names is kept until every Envoy has answered the change, and from then on for
the drain time.

State: the names that are kept, and until when. ``world`` fills it, and decides what is served.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from .kinds import Type

ENVOYS_DEFAULT_SECONDS = 600.0
"""Envoy's default for ``--drain-time-s``."""

Named = tuple[Type, str]


class Draining:
    """Names that listeners no longer use. ``seconds``: Envoy's drain time, 0 keeps nothing; ``clock`` gives seconds."""

    def __init__(self, seconds: float = ENVOYS_DEFAULT_SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._unanswered: dict[Named, int] = {}
        self._until: dict[Named, float] = {}

    def keep(self, kind: Type, name: str, serial: int) -> None:
        """Keep a name that no listener uses any more from the publication ``serial`` on."""
        if self.seconds > 0:
            self._until.pop((kind, name), None)
            self._unanswered[kind, name] = serial

    def answered(self, serial: float) -> None:
        """Note that every Envoy has answered up to ``serial``: the drain time of names dropped by then begins."""
        for named in [named for named, left in self._unanswered.items() if left <= serial]:
            del self._unanswered[named]
            self._until[named] = self._clock() + self.seconds

    def keeps(self, kind: Type, name: str) -> bool:
        """Whether an old filter chain may still use this."""
        return (kind, name) in self._unanswered or (kind, name) in self._until

    def ended(self) -> list[Named]:
        """Forget the names whose drain time is over, and return them in order."""
        now = self._clock()
        over = sorted(named for named, until in self._until.items() if until <= now)
        for named in over:
            del self._until[named]
        return over

    def wait(self) -> float | None:
        """Seconds until the next drain time is over; None while none runs."""
        return max(0.0, min(self._until.values()) - self._clock()) if self._until else None
