"""One write per object at a time, in the order in which they were asked for.

Why: two writes of one object in one batch would be one transaction with two puts of a key, and two requests under way
may overtake each other. The engine plans one object in one place, so nobody waits here in the normal course; this
keeps it true if somebody does not.
"""

from __future__ import annotations

import asyncio
from collections import deque

from intentc.model import Key


class Turns:
    """The objects whose turn is under way, each with those who wait for the next one."""

    def __init__(self) -> None:
        self._open: dict[Key, deque[asyncio.Future[None]] | None] = {}

    async def begin(self, key: Key) -> None:
        """Wait until all earlier turns of ``key`` have ended. The caller owes an ``end``."""
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
                # It has become our turn just now, and we don't take it.
                self.end(key)
            raise

    def end(self, key: Key) -> None:
        """The turn is over: the next one begins."""
        waiting = self._open[key]
        while waiting:
            turn = waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        del self._open[key]
