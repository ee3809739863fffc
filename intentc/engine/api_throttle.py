"""Decides when the API server may be asked: it must be reachable, not have requested a pause, and be within the rate
limit.

Why one throttle for the whole server: an overloaded or unreachable server affects every object, and trying each object
on its own would cause the very load that the server asked to avoid. It sends nothing: the senders report each answer.
``permission`` decides whether this process may write at all; ``write_failures`` handles the single failed write.

``ApiServerProbe`` asks the server whether it answers when no other request has been answered for a while: readiness
follows from the last request, and a process with nothing to write makes none.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Hashable

import anyio

from ..model import Name
from ..reconcile import Pause
from ..reconcile.backoff import Backoff
from ..reconcile.failures import Failure, Throttled, Unavailable
from ..writing import ReadService

_LOG = logging.getLogger(__name__)
_AWAY = Backoff(0.2, 10.0)
"""The pauses of a server that is away."""
PERIOD_SECONDS = 10.0
"""Seconds without any answer of the API server until it is asked, and the longest time for its answer."""


class ApiThrottle(Pause):
    """The pause of the loops that ask the API server. ``writes_per_second``: 0 for no limit."""

    def __init__(self, writes_per_second: float = 0.0) -> None:
        super().__init__(_AWAY)
        self._rate = writes_per_second
        self._free_at = 0.0
        self._heard_at = time.monotonic()
        self.reachable = True
        """Whether the server answered the last request."""
        self.pauses = 0
        """How often the server asked for a pause."""

    @property
    def silent_seconds(self) -> float:
        """Seconds since the last answer."""
        return time.monotonic() - self._heard_at

    def gate(self) -> float:
        """Seconds until the rate limit leaves room for a write."""
        return max(0.0, self._free_at - asyncio.get_running_loop().time()) if self._rate else 0.0

    def spend(self, writes: int) -> None:
        """Count writes that begin now against the rate limit."""
        if self._rate:
            now = asyncio.get_running_loop().time()
            self._free_at = max(self._free_at, now) + writes / self._rate

    def answered(self, key: Hashable) -> None:
        """A run of a loop has ended. That says nothing about the server: many runs don't ask it."""

    def accepted(self, key: Hashable) -> None:
        """The server accepted the write of ``key``."""
        super().answered(key)
        self.heard()

    def heard(self) -> None:
        """The server answered, even if it rejected the request."""
        self.reachable = True
        self.failures = 0
        self._heard_at = time.monotonic()

    def failed(self, failure: Failure, key: Hashable) -> bool:
        is_open, is_asked = not self.seconds, isinstance(failure, Throttled)
        if is_asked:
            self.heard()
            self.pauses += 1
        if not super().failed(failure, key):
            return False
        if is_asked:
            if is_open:
                _LOG.warning("the API server %s", failure)
            return True
        self.reachable = False
        if is_open:
            level = logging.WARNING if self.failures == 1 else logging.DEBUG
            _LOG.log(level, "the API server can't be reached (%s); next try in %.1f s", failure, self.seconds)
        return True


class ApiServerProbe:
    """Makes one read of the server at a time. ``kind``: any kind that the server knows."""

    def __init__(self, read: ReadService, throttle: ApiThrottle, kind: str, period: float = PERIOD_SECONDS) -> None:
        self._read = read
        self._throttle = throttle
        self._name = Name(kind, ("intentc-probe",))
        self._period = period

    async def run(self) -> None:
        """Ask whenever the server was silent for a period, until cancelled."""
        while True:
            silent = self._throttle.silent_seconds
            await asyncio.sleep(self._period - silent if silent < self._period else self._period)
            if self._throttle.silent_seconds >= self._period:
                await self.ask()

    async def ask(self) -> None:
        """Ask once; any answer, a rejection included, shows that the server runs."""
        try:
            with anyio.fail_after(self._period):
                await self._read.identify(self._name)
        except TimeoutError:
            self._throttle.failed(Unavailable(f"no answer in {self._period:g} s"), self._name)
        except Unavailable as error:
            if isinstance(error, Throttled):
                self._throttle.heard()
            else:
                self._throttle.failed(error, self._name)
        except Failure:
            self._throttle.heard()
        else:
            self._throttle.heard()
