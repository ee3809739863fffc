"""Works on one key after another, such that a key that fails delays no other.

Why it exists: bridges bring many objects in line with what is wanted, and any of them may be rejected for as long as it
exists. A key that fails returns after a back-off of its own, and then waits for every key that has not failed. Only
when what all keys need does not answer (a server is away, or asks for a pause) do all wait. Users say what to do for a
key, and which errors concern them all.

State: the queue of keys, and how often in a row all of them had to wait.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import anyio

from intentc.reconcile.backoff import Backoff

from .keyed import Clock, KeyedQueue

_LOG = logging.getLogger(__name__)
K = TypeVar("K", bound=Hashable)


class KeyedWorker(Generic[K]):
    """Calls ``work`` with each key that was added, one at a time.

    ``errors``: those of ``work`` that mean "try again"; ``shared``: the seconds for which such an error makes all keys
    wait at least, None if it concerns its key alone. ``may_work``: keys wait while it is false; ``wake`` says that it
    may be true again. ``backoff``: of a key; ``pause``: of all of them.
    """

    def __init__(
        self,
        work: Callable[[K], Awaitable[None]],
        errors: tuple[type[Exception], ...],
        shared: Callable[[Exception], float | None],
        *,
        may_work: Callable[[], bool] = lambda: True,
        backoff: Backoff,
        pause: Backoff,
        clock: Clock | None = None,
    ) -> None:
        self._work = work
        self._errors = errors
        self._shared = shared
        self._may_work = may_work
        self._pause = pause
        self._queue: KeyedQueue[K] = KeyedQueue(clock=clock, backoff=backoff)
        self._pauses = 0
        self._wake = anyio.Event()

    @property
    def idle(self) -> bool:
        """Whether nothing is to be done: no key waits, is worked on, or is in a back-off."""
        return self._queue.settled

    def is_due(self, key: K) -> bool:
        """Whether ``key`` waits, is worked on, or is in a back-off."""
        return self._queue.busy(key)

    def add(self, key: K, *, unchanged: bool = False) -> None:
        """Have ``key`` worked on. ``unchanged``: what failed would be tried again as it was, so a key that is in a
        back-off stays there."""
        self._queue.add(key, resync=unchanged and self._queue.failures(key) > 0)
        self._wake.set()

    def end_backoff(self, key: K) -> None:
        """Have ``key`` worked on now if it is in a back-off: there may be nothing to do for it any more."""
        if self._queue.backs_off(key):
            self.add(key)

    def wake(self) -> None:
        """Ask ``may_work`` again."""
        self._wake.set()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            while not self._may_work():
                self._wake = anyio.Event()
                await self._wake.wait()
            key = await self._queue.get()
            pause = 0.0
            try:
                if self._may_work():
                    pause = await self._attempt(key)
                else:
                    self._queue.add(key)
            finally:
                self._queue.done(key)
            # Also without a pause: work that waits for nothing must not keep the loop.
            await anyio.sleep(pause)

    async def _attempt(self, key: K) -> float:
        """Work on ``key``; returns the seconds for which all keys wait."""
        try:
            await self._work(key)
        except self._errors as error:
            seconds = self._shared(error)
            if seconds is None:
                self._pauses = 0
                self._queue.retry(key, resync=True)
                return 0.0
            # Others come first next time: it may be about this key after all.
            self._queue.add(key, resync=True)
            self._pauses += 1
            return max(seconds, self._pause.seconds(self._pauses))
        except Exception:
            # A fault of our own, perhaps in what somebody wrote into this object: the others go on.
            _LOG.exception("work failed unexpectedly", extra={"key": str(key)})
            self._queue.retry(key, resync=True)
            return 0.0
        self._pauses = 0
        self._queue.forget(key)
        return 0.0
