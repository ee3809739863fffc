"""Decides when the API server may be asked: it must be reachable, outside a requested pause, and within the rate limit.

Why one throttle for the whole server: an overloaded or unreachable server affects every object, and trying each object
on its own would cause the very load that the server asked to avoid. It sends nothing: the steps that send report each
answer. ``permission`` decides whether this process may write at all; ``write_failures`` handles the single failed
write.

State, in memory: until when the server must not be asked, by a pause or by the rate limit; whether it was reachable
last, how often it was away in a row, and when it answered last; how many pauses it asked for, and for which write the
last one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Hashable
from typing import Generic, TypeVar

from ..reconcile.backoff import Backoff
from ..reconcile.failures import Throttled, Unavailable

_LOG = logging.getLogger(__name__)
_AWAY = Backoff(0.2, 10.0)
"""The pauses of a server that is away."""
_LONGEST = 3600.0
"""Seconds: the longest pause that a server can ask for."""

K = TypeVar("K", bound=Hashable)


class ApiThrottle(Generic[K]):
    """Times are those of the running loop. ``writes_per_second``: 0 for no limit."""

    def __init__(self, writes_per_second: float = 0.0) -> None:
        self._rate = writes_per_second
        self._free_at = 0.0
        self._opens_at = 0.0
        self._outages = 0
        self._throttled: K | None = None
        self._taken_since = False
        self._heard_at = time.monotonic()
        self.reachable = True
        """Whether the server answered the last request."""
        self.pauses = 0
        """How often the server asked for a pause."""

    @property
    def open(self) -> bool:
        """Whether the server accepts a request now."""
        return asyncio.get_running_loop().time() >= self._opens_at

    @property
    def closed_for(self) -> float:
        """Seconds until the server accepts a request."""
        return max(0.0, self._opens_at - asyncio.get_running_loop().time()) if self._opens_at else 0.0

    @property
    def silent_seconds(self) -> float:
        """Seconds since the last answer."""
        return time.monotonic() - self._heard_at

    @property
    def free(self) -> bool:
        """Whether a write may begin now: the server accepts requests, and the rate limit leaves room."""
        return asyncio.get_running_loop().time() >= max(self._opens_at, self._free_at)

    async def opened(self) -> None:
        """Return when a write may begin; at once if it may."""
        clock = asyncio.get_running_loop().time
        while not self.free:  # noqa: ASYNC110 - the time may be extended while we sleep
            await asyncio.sleep(max(self._opens_at, self._free_at) - clock())

    def spend(self, writes: int) -> None:
        """Count writes that begin now against the rate limit."""
        if self._rate:
            now = asyncio.get_running_loop().time()
            self._free_at = max(self._free_at, now) + writes / self._rate

    def answered(self, key: K) -> None:
        """The server accepted the write of ``key``."""
        self.heard()
        if key == self._throttled:
            self._throttled = None
        else:
            self._taken_since = True

    def heard(self) -> None:
        """The server answered, even if it rejected the request."""
        self.reachable = True
        self._outages = 0
        self._heard_at = time.monotonic()

    def away(self, error: Unavailable) -> None:
        """The server can't be reached: close for a while, longer after each failure."""
        self.reachable = False
        if not self.open:
            return
        self._outages += 1
        pause = _AWAY.seconds(self._outages)
        level = logging.WARNING if self._outages == 1 else logging.DEBUG
        _LOG.log(level, "the API server can't be reached (%s); next try in %.1f s", error, pause)
        self._close(pause)

    def throttled(self, error: Throttled, key: K) -> None:
        """The server asks for a pause in answer to the write of ``key``.

        If it throttles the same key twice while it accepts others in between, only that key is delayed."""
        self.heard()
        self.pauses += 1
        if key == self._throttled and self._taken_since:
            return
        self._throttled, self._taken_since = key, False
        if self.open:
            _LOG.warning("the API server %s", error)
        self._close(min(error.seconds, _LONGEST))

    def _close(self, seconds: float) -> None:
        self._opens_at = max(self._opens_at, asyncio.get_running_loop().time() + seconds)
