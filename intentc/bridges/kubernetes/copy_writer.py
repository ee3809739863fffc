"""Writes and deletes copies through the API server, as the mirror plans, while this process may write.

What the API server rejects is not sent again until it changes, or 10 minutes are over.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, NamedTuple

from intentc import crashpoints
from intentc.model import Key
from intentc.reconcile import RequeueAfter, Result
from intentc.reconcile.failures import Failure, Rejected, UnknownOutcome
from intentc.writing import Written

from .fenced_writer import FencedService, FencedWriter
from .mirror import Mirror, Removal, Write

_LOG = logging.getLogger(__name__)
_REJECTED_AGAIN = 600.0
"""Seconds until a rejected object is sent again: the API server may be a newer one."""


class _HeldBack(NamedTuple):
    """A rejected write: of which content, and until when (by the event loop's clock) it is not sent again."""

    digest: bytes
    until: float


class CopyWriter(FencedWriter[Key]):
    """Writes the copies."""

    def __init__(self, mirror: Mirror, service: FencedService) -> None:
        super().__init__(service)
        self.rejected: dict[Key, str] = {}
        """Objects that the API server rejects, with its words."""
        self._mirror = mirror
        self._held_back: dict[Key, _HeldBack] = {}

    def wake(self) -> None:
        """Look whether there is something to send, and whether this process may."""
        for key in self._mirror.take_dirty():
            self.loop.add(key)
        self.loop.wake()

    def applied(self, revision: int) -> None:
        super().applied(revision)
        self.wake()

    @property
    def idle(self) -> bool:
        """Whether nothing is to be sent, under way, or awaited."""
        return super().idle and not self._mirror.has_dirty

    @property
    def pending(self) -> int:
        """How many writes are under way or await their echo."""
        return self.loop.in_flight + len(self._awaited)

    def _begin(self, key: Key) -> Result | Coroutine[Any, Any, Result]:
        fence = self._fence()
        if fence is None or key in self._awaited:
            return None
        planned = self._mirror.plan(key)
        held = self._held_back.get(key)
        if held is not None and isinstance(planned, Write) and planned.digest == held.digest:
            left = held.until - asyncio.get_running_loop().time()
            if left > 0:
                return RequeueAfter(left)
        self._held_back.pop(key, None)
        self.rejected.pop(key, None)
        if planned is None:
            return None
        if isinstance(planned, Removal):
            return self._finish(planned, self._writer.remove(key, planned.revision, fence), fence)
        return self._finish(planned, self._writer.put(key, planned.document, fence), fence)

    async def _finish(self, planned: Write | Removal, future: asyncio.Future[Written], fence: str) -> Result:
        key = planned.key
        try:
            await self._written(key, future, fence)
        except Rejected as error:
            if isinstance(planned, Removal):
                raise
            self.counters["rejected"] += 1
            _LOG.warning("the API server rejects %s: %s", key, error)
            self.rejected[key] = str(error)
            until = asyncio.get_running_loop().time() + _REJECTED_AGAIN
            self._held_back[key] = _HeldBack(planned.digest, until)
            return RequeueAfter(_REJECTED_AGAIN)
        crashpoints.reach("copy.answered")
        self.counters["removed" if isinstance(planned, Removal) else "written"] += 1
        return None

    def _note_failure(self, key: Key, error: Exception) -> None:
        if not isinstance(error, Failure):
            _LOG.error("writing %s failed unexpectedly: %r", key, error)
        elif not error.concerns_all and not isinstance(error, UnknownOutcome):
            # Somebody else was faster; what etcd shows next decides. If it shows nothing, this is tried again.
            self.counters["conflicts"] += 1
        else:
            if str(error) != self.last_error:
                _LOG.warning("the API server: %s", error)
            self.last_error = str(error)
