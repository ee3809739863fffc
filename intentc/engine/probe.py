"""Asks the API server whether it answers, when no request has shown it for a while.

Why it exists: readiness follows from the last request, and a process with nothing to write makes none. It would stay
ready after the server stopped, and not ready long after the server is back.

It makes one read of the API server at a time, and reports the answer to ``api_throttle``.
"""

from __future__ import annotations

import asyncio

import anyio

from ..model import Name
from ..reconcile.failures import Failure, Throttled, Unavailable
from ..writing.service import ReadService
from .api_throttle import ApiThrottle

PERIOD_SECONDS = 10.0
"""Seconds without any answer of the API server until it is asked, and the longest time for its answer."""


class ApiServerProbe:
    """``kind``: any kind that the server knows."""

    def __init__(
        self, read: ReadService, throttle: ApiThrottle[Name], kind: str, period: float = PERIOD_SECONDS
    ) -> None:
        self._read = read
        self._throttle = throttle
        self._name = Name(kind, ("intentc-probe",))
        self._period = period

    async def run(self) -> None:
        """Ask whenever the server was silent for a period, without end."""
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
            self._throttle.away(Unavailable(f"no answer in {self._period:g} s"))
        except Unavailable as error:
            if isinstance(error, Throttled):
                self._throttle.heard()
            else:
                self._throttle.away(error)
        except Failure:
            self._throttle.heard()
        else:
            self._throttle.heard()
