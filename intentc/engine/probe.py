"""Asks the API server whether it answers when nothing else has asked it for a while.

Why it exists: readiness is read off the last request, and a compiler with nothing to write makes none: it would be
ready beside a server that has stopped, and not ready long after it is back. What follows from an answer is the
``throttle``'s business.
"""

from __future__ import annotations

import asyncio

import anyio

from ..model import Name
from ..writing import Unreachable, WriteError
from ..writing.service import ReadService
from .api_throttle import ApiThrottle

PERIOD_SECONDS = 10.0
"""How long nothing may have been heard of the API server before it is asked, and how long an answer may take."""


class ApiServerProbe:
    """``kind``: any kind that the server knows."""

    def __init__(
        self, read: ReadService, throttle: ApiThrottle[Name], kind: str, period: float = PERIOD_SECONDS
    ) -> None:
        self._read = read
        self._gate = throttle
        self._name = Name(kind, ("intentc-probe",))
        self._period = period

    async def run(self) -> None:
        """Ask whenever nothing was heard for a period, for ever."""
        while True:
            silent = self._gate.silent_seconds
            await asyncio.sleep(self._period - silent if silent < self._period else self._period)
            if self._gate.silent_seconds >= self._period:
                await self.ask()

    async def ask(self) -> None:
        """Ask once; any answer, also one that rejects us, shows that the server is there."""
        try:
            with anyio.fail_after(self._period):
                await self._read.identify(self._name)
        except TimeoutError:
            self._gate.away(Unreachable(f"no answer in {self._period:g} s"))
        except Unreachable as error:
            self._gate.away(error)
        except WriteError:
            self._gate.heard()
        else:
            self._gate.heard()
