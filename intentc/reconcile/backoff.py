"""Computes how long to wait before the next attempt: the one back-off policy of all packages.

A user names its first and last wait and the jitter, or takes one of the two that several share: ``RECONNECT`` for
connections, and the rule by which a part of an object is contended (``PartRepairs``). The user makes the attempts. No
library: those on PyPI wrap the attempt as well, and here a queue, an event or an election decides when one is due.

``Backoff`` is a value; its waits have random jitter, unless that is 0, as for contended parts. State: ``Retries``
counts failures in a row, and notes since when all went well; ``PartRepairs`` has the repairs of one part of an object,
and until when it backs off. Their owners call them.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

_LARGEST_EXPONENT = 62
"""Many failures in a row must not overflow a float."""


class Backoff(NamedTuple):
    """Waits that double from ``first`` to ``last`` seconds.

    ``jitter``: the part of each wait that chance may take away, so that users who failed together (when a server was
    down) don't return together.

    >>> [Backoff(1, 6, jitter=0).seconds(failures) for failures in (1, 2, 3, 4)]
    [1.0, 2.0, 4.0, 6.0]
    >>> Backoff(1, 8).seconds(10, chance=lambda: 0.0)
    4.0
    """

    first: float
    last: float
    jitter: float = 0.5

    def seconds(self, failures: int, chance: Callable[[], float] = random.random) -> float:
        """The wait after the ``failures``-th failure in a row (1 is the first). ``chance`` gives numbers in [0, 1)."""
        whole = min(self.last, self.first * 2.0 ** min(failures - 1, _LARGEST_EXPONENT))
        return whole * (1 - self.jitter * (1 - chance()))


RECONNECT = Backoff(0.1, 3.0)
"""For connections to a store: short enough that nobody waits long, long enough that attempts cost little."""


def retry_after(text: str, longest: float, unknown: float = 0.0) -> float:
    """The seconds that a ``Retry-After`` asks for, at most ``longest``. It is a number or a date; ``unknown`` is
    returned if it is absent or invalid.

    >>> [retry_after(text, 300.0) for text in ("7", "-7", "inf", "999999999", "nan", "soon", "")]
    [7.0, 0.0, 300.0, 300.0, 0.0, 0.0, 0.0]
    """
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return unknown
    return unknown if math.isnan(seconds) else min(max(seconds, 0.0), longest)


class Retries:
    """Counts the failures in a row of one connection.

    ``settled_after``: seconds of success after which the waits start anew; a flapping connection also succeeds often.
    """

    def __init__(
        self,
        backoff: Backoff = RECONNECT,
        *,
        settled_after: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._backoff = backoff
        self._settled_after = settled_after
        self._clock = clock
        self._chance = chance
        self._failures = 0
        self._well_since: float | None = None

    def went_well(self) -> None:
        """Record a connection."""
        self._well_since = self._clock()

    def next_wait(self) -> float:
        """Seconds to wait after a failure."""
        if self._well_since is not None and self._clock() - self._well_since >= self._settled_after:
            self._failures = 0
        self._well_since = None
        self._failures += 1
        return self._backoff.seconds(self._failures, self._chance)


CONTENTION_REVERTS = 5
CONTENTION_SECONDS = 600.0
"""This many repairs of one part of an object within this many seconds are contention."""
CONTENDED = Backoff(60.0, 3600.0, jitter=0)
"""The pauses until a contended part is tried again."""


class PartRepairs:
    """One part of an object that another writer reverts: when it was repaired, and until when it backs off.

    If a revert follows a pause within the pause's length, the next pause begins; it is twice as long if the former one
    ran to its end. So no pause is longer than the contention before it plus 1 minute. A part that stays unchanged for
    longer starts over."""

    __slots__ = ("contentions", "is_cut_short", "times", "until")

    def __init__(self) -> None:
        self.times: tuple[float, ...] = ()
        self.contentions = 0
        self.until = 0.0
        self.is_cut_short = False
        """Whether the last pause did not run to its end."""

    @property
    def rest(self) -> float:
        """The length of its last pause in seconds."""
        return CONTENDED.seconds(self.contentions) if self.contentions else 0.0

    def cut_short(self, now: float) -> None:
        """End a pause: the part is to be written at once, for another reason than the end of the pause."""
        if self.until > now:
            self.until, self.is_cut_short = now, True

    def repaired(self, now: float) -> bool:
        """Count one more repair. True if the part becomes contended by it."""
        self.times = (*self.times[1 - CONTENTION_REVERTS :], now)
        again = self.contentions > 0 and now - self.until < self.rest
        if again or (len(self.times) == CONTENTION_REVERTS and now - self.times[0] <= CONTENTION_SECONDS):
            self.contentions = self.contentions + (not self.is_cut_short) if again else 1
            self.until, self.is_cut_short = now + self.rest, False
            self.times = ()
            return True
        if now - self.times[0] > CONTENTION_SECONDS:
            self.contentions = 0
        return False
