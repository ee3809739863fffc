"""Computes how long to wait before the next attempt to connect.

Why it exists: a store that returns must not be met by all its clients at once, and a connection that is cut repeatedly
must not keep a core busy. The caller makes the attempts.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import NamedTuple


class BackoffSettings(NamedTuple):
    """Seconds: the first wait, the longest one, and the time of success after which the waits start anew."""

    first: float = 0.1
    longest: float = 3.0
    settled_after: float = 10.0


DEFAULT_BACKOFF = BackoffSettings()


class Backoff:
    """Doubling waits, each shortened at random to between half and all of its length."""

    def __init__(
        self,
        settings: BackoffSettings = DEFAULT_BACKOFF,
        *,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._chance = chance
        self._failures = 0
        self._well_since: float | None = None

    def went_well(self) -> None:
        """Record a connection. The waits start anew only after it lasts: a flapping connection also succeeds often."""
        self._well_since = self._clock()

    def next_wait(self) -> float:
        """Seconds to wait after a failure."""
        settings = self._settings
        if self._well_since is not None and self._clock() - self._well_since >= settings.settled_after:
            self._failures = 0
        self._well_since = None
        full: float = min(settings.longest, settings.first * 2 ** min(self._failures, 30))
        self._failures += 1
        return full * (0.5 + self._chance() / 2)
