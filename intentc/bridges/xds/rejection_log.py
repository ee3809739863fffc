"""Decides at which level a rejection by an Envoy is logged: once in full, then no more while it repeats.

Why it exists: a client that reconnects is sent the same again and rejects it again, and what it says is up to it. So a
rejection is logged once an hour for each element and message, and 30 different ones a minute; further ones are logged
at DEBUG. Nothing else is lost: metrics count each, and records and status have the present ones. ``rejections`` logs.

State: the rejections that were logged in the last hour, at most 1,000, and how many in this minute.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

_REPEAT_SECONDS = 3600.0
_PERIOD_SECONDS = 60.0
_MOST_IN_PERIOD = 30
_MOST_KNOWN = 1_000


class RejectionLog:
    """``clock`` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._logged: dict[tuple[str, str], float] = {}
        self._period_began = clock()
        self._in_period = 0

    def level(self, about: str, message: str, first: int) -> int:
        """The level for a rejection of ``about`` with ``message``: ``first``, or DEBUG if that would be too much."""
        now = self._clock()
        if now - self._period_began >= _PERIOD_SECONDS:
            self._period_began, self._in_period = now, 0
        logged = self._logged.get((about, message))
        if self._in_period >= _MOST_IN_PERIOD or (logged is not None and now - logged < _REPEAT_SECONDS):
            return logging.DEBUG
        self._in_period += 1
        self._logged.pop((about, message), None)
        self._logged[about, message] = now
        if len(self._logged) > _MOST_KNOWN:
            del self._logged[next(iter(self._logged))]
        return first
