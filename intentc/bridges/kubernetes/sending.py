"""Writes and deletes copies through the API server, as the mirror plans, while this process may write.

Why it exists: many writes are under way at once and share requests, but an object has one at a time, and is looked at
again once etcd has shown its result. What the API server rejects is not sent again until it changes, or 10 minutes are
over; an object whose write fails otherwise is tried again, with a back-off of its own. All wait only while the server
is away, or asks for a pause. ``mirror`` decides what to write; ``answering`` writes what belongs to manifests.

State: the writes under way, what awaits its echo, up to which revision etcd is known, what was rejected, the present
pause, failures and counters.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Protocol

import anyio

from intentc import crashpoints
from intentc.model import Key
from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Conflict, Failure, Fenced, Rejected, Throttled, Unavailable, UnknownOutcome
from intentc.writing import Written

from .mirror import Mirror, Removal, Write

_LOG = logging.getLogger(__name__)
_UNDER_WAY = 400
"""Writes at once: four full requests."""
_AGAIN = Backoff(0.2, 30.0)
_REJECTED_AGAIN = 600.0
"""Seconds until a rejected object is sent again: the API server may be a newer one."""


class Writer(Protocol):
    """Writes copies; see ``writing.mirroring.MirrorService``."""

    def put(self, key: Key, document: bytes, fence: str | None) -> asyncio.Future[Written]: ...

    def remove(self, key: Key, revision: int, fence: str | None) -> asyncio.Future[Written]: ...


class Sender:
    """Sends. ``fence``: the present one, None while this process may not write; ``fenced`` is called with one that the
    API server rejects. ``clock``: seconds."""

    def __init__(
        self,
        mirror: Mirror,
        writer: Writer,
        fence: Callable[[], str | None],
        fenced: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rejected: dict[Key, str] = {}
        """Objects that the API server rejects, with its words."""
        self.counters: Counter[str] = Counter()
        self.last_error = ""
        self._mirror = mirror
        self._writer = writer
        self._fence = fence
        self._fenced = fenced
        self._clock = clock
        self._wake = anyio.Event()
        self._under_way: set[Key] = set()
        self._awaited: dict[Key, int] = {}
        self._held_back: dict[Key, bytes] = {}
        self._own_failures: Counter[Key] = Counter()
        self._failures = 0
        self._paused_until = 0.0
        self._applied = 0

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            if self._fence() is None or not self._mirror.has_dirty or len(self._under_way) >= _UNDER_WAY:
                await self._wake.wait()
                self._wake = anyio.Event()
            pause = self._paused_until - self._clock()
            if pause > 0:
                await anyio.sleep(pause)
            self._send_due()

    def wake(self) -> None:
        """Look whether there is something to send."""
        self._wake.set()

    def applied(self, revision: int) -> None:
        """Note that everything in etcd up to ``revision`` is known."""
        self._applied = revision
        for key in [key for key, awaited in self._awaited.items() if awaited <= revision]:
            del self._awaited[key]
            self._mirror.look_again(key)
        self.wake()

    @property
    def idle(self) -> bool:
        """Whether nothing is to be sent, under way, or awaited."""
        return not (self._mirror.has_dirty or self._under_way or self._awaited)

    @property
    def pending(self) -> int:
        """How many writes are under way or await their echo."""
        return len(self._under_way) + len(self._awaited)

    def _send_due(self) -> None:
        fence = self._fence()
        if fence is None:
            return
        for key in self._mirror.take_dirty(_UNDER_WAY - len(self._under_way)):
            if key in self._under_way or key in self._awaited:
                continue
            planned = self._mirror.plan(key)
            if planned is None:
                self._forget(key)
            elif isinstance(planned, Removal):
                self._forget(key)
                self._begin(key, self._writer.remove(key, planned.revision, fence), planned, fence)
            elif not self._is_held_back(key, planned):
                self._begin(key, self._writer.put(key, planned.document, fence), planned, fence)

    def _begin(self, key: Key, future: asyncio.Future[Written], planned: Write | Removal, fence: str) -> None:
        self._under_way.add(key)
        future.add_done_callback(partial(self._ended, key, planned, fence))

    def _ended(self, key: Key, planned: Write | Removal, fence: str, future: asyncio.Future[Written]) -> None:
        self._under_way.discard(key)
        self.wake()
        error = None if future.cancelled() else future.exception()
        if future.cancelled() or error is not None:
            self._failed(key, planned, fence, error)
            return
        self._failures, self.last_error = 0, ""
        self._own_failures.pop(key, None)
        crashpoints.reach("copy.answered")
        self.counters["removed" if isinstance(planned, Removal) else "written"] += 1
        self._forget(key)
        revision = future.result().revision
        if revision is not None and revision > self._applied:
            self._awaited[key] = revision
        else:
            self._mirror.look_again(key)

    def _failed(self, key: Key, planned: Write | Removal, fence: str, error: BaseException | None) -> None:
        match error:
            case Fenced():
                self._fenced(fence)
            case Rejected() if isinstance(planned, Write):
                self.counters["rejected"] += 1
                _LOG.warning("the API server rejects %s: %s", key, error)
                self.rejected[key] = str(error)
                self._held_back[key] = planned.digest
                self._later(key, _REJECTED_AGAIN)
                return
            case Throttled(seconds=seconds):
                self._pause(max(seconds, 0.1), error)
            case Unavailable():
                self._pause(_AGAIN.seconds(self._failures + 1), error)
            case UnknownOutcome():
                # The server may fail at this object alone: it has a back-off of its own, apart from its batch.
                self._log(error)
                self._later(key, self._own_pause(key))
                return
            case Conflict() | Failure():
                # Somebody else was faster; what etcd shows next decides. If it shows nothing, this is tried again.
                self.counters["conflicts"] += 1
                self._later(key, self._own_pause(key))
                return
            case _:
                _LOG.error("writing %s failed unexpectedly: %r", key, error)
                self._later(key, _AGAIN.last)
                return
        self._mirror.look_again(key)

    def _pause(self, seconds: float, error: BaseException | None) -> None:
        """All writes wait: the server is away, or asks for it."""
        self._failures += 1
        self._log(error)
        self._paused_until = self._clock() + seconds

    def _log(self, error: BaseException | None) -> None:
        if str(error) != self.last_error:
            _LOG.warning("the API server: %s", error)
        self.last_error = str(error)

    def _own_pause(self, key: Key) -> float:
        self._own_failures[key] += 1
        return _AGAIN.seconds(self._own_failures[key])

    def _later(self, key: Key, seconds: float) -> None:
        """Look at a key after ``seconds``, whatever was found out about it until now."""

        def look() -> None:
            self._held_back.pop(key, None)
            self._mirror.look_again(key)
            self.wake()

        asyncio.get_running_loop().call_later(seconds, look)

    def _is_held_back(self, key: Key, planned: Write) -> bool:
        if self._held_back.get(key) == planned.digest:
            return True
        self._forget(key)
        return False

    def _forget(self, key: Key) -> None:
        self._held_back.pop(key, None)
        self.rejected.pop(key, None)
