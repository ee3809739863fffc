"""When the API server may be asked: not while it is away, not in a pause that it asked for, not faster than allowed.

Why for the whole server: a server that is overloaded or away is so for every object, and trying each by itself would be
the storm that it asked to be spared. What becomes of the one write that failed is ``sender``'s business.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Hashable
from typing import Generic, TypeVar

from ..writing import Throttled, Unreachable

_LOG = logging.getLogger(__name__)
_FIRST = 0.2
_LAST = 10.0
_LONGEST = 3600.0
"""Seconds: the first and the last pause of a server that is away, and the longest that it can ask for."""

K = TypeVar("K", bound=Hashable)


class ApiThrottle(Generic[K]):
    """``writes_per_second``: 0 for no limit. Times are those of the running loop."""

    def __init__(self, writes_per_second: float = 0.0) -> None:
        self._rate = writes_per_second
        self._free_at = 0.0
        self._opens_at = 0.0
        self._outages = 0
        self._throttled: K | None = None
        self._taken_since = False
        self._heard_at = time.monotonic()
        self.reachable = True
        """Whether the last request was answered."""
        self.pauses = 0
        """How often the server asked for a pause."""

    @property
    def open(self) -> bool:
        """Whether a request may be made now, as far as the server is concerned."""
        return asyncio.get_running_loop().time() >= self._opens_at

    @property
    def closed_for(self) -> float:
        """Seconds until a request may be made, as far as the server is concerned."""
        return max(0.0, self._opens_at - asyncio.get_running_loop().time())

    @property
    def silent_seconds(self) -> float:
        """Seconds since the last answer."""
        return time.monotonic() - self._heard_at

    @property
    def free(self) -> bool:
        """Whether a write may be begun now: the server may be asked, and the limit leaves room."""
        return asyncio.get_running_loop().time() >= max(self._opens_at, self._free_at)

    async def opened(self) -> None:
        """Return when a write may be begun; at once if it may."""
        clock = asyncio.get_running_loop().time
        while not self.free:  # noqa: ASYNC110 - the time may be put off while we sleep
            await asyncio.sleep(max(self._opens_at, self._free_at) - clock())

    def spend(self, writes: int) -> None:
        """So many writes are begun: at a limit, the next must wait for their time to pass."""
        if self._rate:
            now = asyncio.get_running_loop().time()
            self._free_at = max(self._free_at, now) + writes / self._rate

    def answered(self, key: K) -> None:
        """The server took the write of ``key``."""
        self.heard()
        if key == self._throttled:
            self._throttled = None
        else:
            self._taken_since = True

    def heard(self) -> None:
        """The server answered, be it that it refuses."""
        self.reachable = True
        self._outages = 0
        self._heard_at = time.monotonic()

    def away(self, error: Unreachable) -> None:
        """The server can't be reached: nobody asks it for a while, longer each time."""
        self.reachable = False
        if not self.open:
            return
        self._outages += 1
        pause = min(_FIRST * 2.0 ** min(self._outages - 1, 30), _LAST) * random.uniform(0.5, 1.0)  # noqa: S311
        level = logging.WARNING if self._outages == 1 else logging.DEBUG
        _LOG.log(level, "the API server can't be reached (%s); next try in %.1f s", error, pause)
        self._close(pause)

    def throttled(self, error: Throttled, key: K) -> None:
        """The server asks for a pause, by the write of ``key``. If it is the same one again, and others were taken in
        between, it is that one alone whom the server doesn't like now."""
        self.heard()
        self.pauses += 1
        if key == self._throttled and self._taken_since:
            return
        self._throttled, self._taken_since = key, False
        if self.open:
            _LOG.warning("the API server %s", error)
        self._close(min(error.retry_after, _LONGEST))

    def _close(self, seconds: float) -> None:
        self._opens_at = max(self._opens_at, asyncio.get_running_loop().time() + seconds)
