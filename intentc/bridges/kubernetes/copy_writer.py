"""Writes and deletes copies through the API server, as the mirror plans, while this process may write.

Why it exists: many writes are under way at once and share requests, but an object has one at a time, and is looked at
again once etcd has shown its result. What the API server rejects is not sent again until it changes, or 10 minutes are
over; an object whose write fails otherwise is tried again, with a back-off of its own. All wait only while the server
is away, or asks for a pause (``reconcile.Loop``). ``mirror`` decides what to write; ``manifest_answers`` writes what
belongs to manifests.

State: what awaits its echo, up to which revision etcd is known, what was rejected, and counters.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from intentc import crashpoints
from intentc.model import Key
from intentc.reconcile import Loop, RequeueAfter, Result, open_while
from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Failure, Fenced, Rejected, UnknownOutcome
from intentc.writing import Written
from intentc.writing.http import MirrorService

from .mirror import Mirror, Removal, Write

_LOG = logging.getLogger(__name__)
_UNDER_WAY = 400
"""Writes at once: four full requests."""
_AGAIN = Backoff(0.2, 30.0)
_REJECTED_AGAIN = 600.0
"""Seconds until a rejected object is sent again: the API server may be a newer one."""


class _HeldBack(NamedTuple):
    """A rejected write: of which content, and until when (by the event loop's clock) it is not sent again."""

    digest: bytes
    until: float


class CopyWriter:
    """Writes the copies. ``fence``: the present one, None while this process may not write; ``fenced`` is called with
    one that the API server rejects."""

    def __init__(
        self, mirror: Mirror, writer: MirrorService, fence: Callable[[], str | None], fenced: Callable[[str], None]
    ) -> None:
        self.rejected: dict[Key, str] = {}
        """Objects that the API server rejects, with its words."""
        self.counters: Counter[str] = Counter()
        self.last_error = ""
        self._mirror = mirror
        self._writer = writer
        self._fence = fence
        self._fenced = fenced
        self._awaited: dict[Key, int] = {}
        self._held_back: dict[Key, _HeldBack] = {}
        self._applied = 0
        self.loop: Loop[Key] = Loop(
            self._send,
            workers=_UNDER_WAY,
            gate=open_while(lambda: fence() is not None),
            backoff=_AGAIN,
            on_failure=self._note_failure,
        )

    def wake(self) -> None:
        """Look whether there is something to send, and whether this process may."""
        for key in self._mirror.take_dirty():
            self.loop.add(key)
        self.loop.wake()

    def applied(self, revision: int) -> None:
        """Note that everything in etcd up to ``revision`` is known."""
        self._applied = revision
        for key in [key for key, awaited in self._awaited.items() if awaited <= revision]:
            del self._awaited[key]
            self.loop.add(key)
        self.wake()

    @property
    def idle(self) -> bool:
        """Whether nothing is to be sent, under way, or awaited."""
        return self.loop.idle and not (self._mirror.has_dirty or self._awaited)

    @property
    def pending(self) -> int:
        """How many writes are under way or await their echo."""
        return self.loop.in_flight + len(self._awaited)

    def _send(self, key: Key) -> Result | Coroutine[Any, Any, Result]:
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
        # Begun here, so that writes that begin together share requests.
        if isinstance(planned, Removal):
            return self._finish(planned, self._writer.remove(key, planned.revision, fence), fence)
        return self._finish(planned, self._writer.put(key, planned.document, fence), fence)

    async def _finish(self, planned: Write | Removal, future: asyncio.Future[Written], fence: str) -> Result:
        key = planned.key
        try:
            written = await future
        except Fenced:
            self._fenced(fence)
            raise
        except Rejected as error:
            if isinstance(planned, Removal):
                raise
            self.counters["rejected"] += 1
            _LOG.warning("the API server rejects %s: %s", key, error)
            self.rejected[key] = str(error)
            until = asyncio.get_running_loop().time() + _REJECTED_AGAIN
            self._held_back[key] = _HeldBack(planned.digest, until)
            return RequeueAfter(_REJECTED_AGAIN)
        self.last_error = ""
        crashpoints.reach("copy.answered")
        self.counters["removed" if isinstance(planned, Removal) else "written"] += 1
        if written.revision is not None and written.revision > self._applied:
            self._awaited[key] = written.revision
        else:
            self.loop.add(key)
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
