"""Serializes writes per object, in the order in which they were submitted.

Why it exists: two writes of one object in one batch would be one transaction with two puts of a key, and two requests
under way may overtake each other. The engine normally has one write per object; this enforces it for all callers of
``http.py``. Those of ``mirroring.py`` keep to it themselves.

State: the writes of each object that are under way or wait. Callers wait for their turn, and write.
"""

from __future__ import annotations

import asyncio
from collections import deque

from intentc.model import Key


class Turns:
    """The objects with a turn under way, each with the waiting turns."""

    def __init__(self) -> None:
        self._open: dict[Key, deque[asyncio.Future[None]] | None] = {}

    async def begin(self, key: Key) -> None:
        """Wait until all earlier turns of ``key`` have ended. The caller must call ``end``."""
        if key not in self._open:
            self._open[key] = None
            return
        waiting = self._open[key]
        if waiting is None:
            waiting = self._open[key] = deque()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The turn was granted just before the cancellation, so it must be passed on.
                self.end(key)
            raise

    def end(self, key: Key) -> None:
        """End the turn of ``key`` and begin the next one."""
        waiting = self._open[key]
        while waiting:
            turn = waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        del self._open[key]
