"""Computes how long a failed key waits before it is tried again.

Pure arithmetic over a count, apart from the queue so that it can be tested on its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable

FIRST_SECONDS = 0.005
LAST_SECONDS = 60.0


class Backoff:
    """Doubling from ``first`` to ``last`` seconds, each delay drawn from its upper half.

    The jitter prevents keys that failed together (when a server was down) from being retried together. ``random`` gives
    numbers in [0, 1); tests pass a constant.

    >>> Backoff(random=lambda: 0.0).seconds(1)
    0.0025
    >>> Backoff(first=1, last=8, random=lambda: 1.0).seconds(10)
    8.0
    """

    def __init__(
        self,
        first: float = FIRST_SECONDS,
        last: float = LAST_SECONDS,
        random: Callable[[], float] = random.random,
    ) -> None:
        self._first = first
        self._last = last
        self._random = random

    def seconds(self, failures: int) -> float:
        """The delay after the ``failures``-th failure in a row (1 is the first)."""
        # The exponent is capped so that many failures don't overflow a float.
        whole = min(self._last, self._first * 2.0 ** min(failures - 1, 62))
        return whole * (0.5 + 0.5 * self._random())
