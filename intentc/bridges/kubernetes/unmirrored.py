"""Reports objects of the cluster that can't be mirrored, as Events on them.

Why it exists: a user who applies an object that the API server rejects looks at that object, not at the bridge's
``/status``. An object gets an Event when it is first rejected, and when the reason changes. Many rejected objects must
not flood the cluster with Events: those above the limit come later.

State: what was reported since this process leads. It writes to the cluster, by ``events``.

Touches: clock; through others: environment, files, HTTP, logs, processes, randomness, sockets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import anyio

from intentc.model import Key

from .events import Events, Regarding

_MOST = 100
"""Events of this sort in ``_SECONDS``."""
_SECONDS = 600.0


class Unmirrored:
    """Reports. ``reasons``: why objects can't be mirrored now, of all kinds; ``regarding``: such an object, None if its
    kind is no longer served; ``may_write``: whether this process leads."""

    def __init__(
        self,
        events: Events,
        reasons: Callable[[], Mapping[Key, str]],
        regarding: Callable[[Key], Regarding | None],
        may_write: Callable[[], bool],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._events = events
        self._reasons = reasons
        self._regarding = regarding
        self._may_write = may_write
        self._clock = clock
        self._reported: dict[Key, str] = {}
        self._left = _MOST
        self._full_at = clock() + _SECONDS

    async def run(self, seconds: float) -> None:
        """Look every ``seconds`` until cancelled."""
        while True:
            await anyio.sleep(seconds)
            await self.report()

    async def report(self) -> None:
        """Report what was not reported yet."""
        if not self._may_write():
            self._reported.clear()
            return
        reasons = self._reasons()
        for key in self._reported.keys() - reasons.keys():
            del self._reported[key]
        if self._clock() >= self._full_at:
            self._left, self._full_at = _MOST, self._clock() + _SECONDS
        due = [key for key, words in reasons.items() if self._reported.get(key) != words]
        for key in due[: self._left]:
            self._left -= 1
            self._reported[key] = reasons[key]
            about = self._regarding(key)
            if about is not None:
                await self._events.report(about, "NotMirrored", "Mirror", reasons[key])
