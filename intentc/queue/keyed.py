"""A queue of keys in which each key is at most once, and never with two workers at the same time.

Why our own: coalescing is what keeps a storm of events cheap. Adding a key that waits only updates it; adding one
that is being worked on makes it run again afterwards; so 10,000 events on one hub are a handful of jobs. Live changes
go before resync, but every eighth job is a resync one, so that neither starves. A key that failed comes back after a
back-off, and a live change of it does not wait for that.

It is built on asyncio's futures and is for one event loop; nothing in it blocks or polls. What the jobs are, how many
workers there are, and what counts as a failure is left to the engine.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

from .backoff import Backoff

K = TypeVar("K", bound=Hashable)

LIVE_IN_A_ROW = 7
"""How many live keys may pass while a resync one waits: every eighth job is a resync one (docs/engine.md §11.2)."""


class Timer(Protocol):
    """A call that is due later and can be called off."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Time for back-offs, in seconds. An asyncio loop is one; tests pass their own."""

    def time(self) -> float: ...

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Timer: ...


class KeyedQueue(Generic[K]):
    """The queue. A worker's loop::

        key = await queue.get()
        try:
            ...
            queue.forget(key)      # or, after a failure that time may heal: queue.retry(key)
        finally:
            queue.done(key)

    ``clock``: by default the running loop. ``backoff``: the delays of ``retry``.
    """

    def __init__(self, *, clock: Clock | None = None, backoff: Backoff | None = None) -> None:
        self._clock = clock
        self._backoff = backoff or Backoff()
        # Ordered dicts, since taking the first key of a plain dict again and again is quadratic.
        # The values are when each was added, by the monotonic clock.
        self._live: OrderedDict[K, float] = OrderedDict()
        self._resync: OrderedDict[K, float] = OrderedDict()
        self._working: dict[K, bool] = {}
        self._again: dict[K, bool] = {}
        self._failures: dict[K, int] = {}
        self._delayed: dict[K, tuple[float, Timer]] = {}
        self._getters: deque[asyncio.Future[K]] = deque()
        self._waiting: list[asyncio.Future[None]] = []
        self._live_in_a_row = 0

    def add(self, key: K, *, resync: bool = False) -> None:
        """Ask for a run of ``key``. ``resync``: nothing changed, it is only looked over; this never overtakes a
        back-off, and is forgotten if a live run is due anyway."""
        if key in self._delayed:
            if resync:
                return
            self._delayed.pop(key)[1].cancel()
        if key in self._working:
            self._again[key] = resync and self._again.get(key, True)
        elif not resync:
            self._resync.pop(key, None)
            self._live.setdefault(key, time.monotonic())
            self._hand_over()
        elif key not in self._live:
            self._resync.setdefault(key, time.monotonic())
            self._hand_over()

    async def get(self) -> K:
        """The next key, now being worked on by the caller, who owes a ``done`` for it."""
        if self._live or self._resync:
            return self._next()
        getter: asyncio.Future[K] = asyncio.get_running_loop().create_future()
        self._getters.append(getter)
        try:
            return await getter
        except asyncio.CancelledError:
            if getter.done() and not getter.cancelled():
                # The key was handed over, but its worker is gone: somebody else must get it.
                key = getter.result()
                self._again.setdefault(key, self._working[key])
                self.done(key)
            raise

    def take(self) -> K | None:
        """Like ``get``, but None if no key waits."""
        return self._next() if self._live or self._resync else None

    def take_all(self) -> tuple[K, ...]:
        """Every key that waits, in the order of ``get``; the caller owes a ``done`` for each."""
        return tuple(self._next() for _ in range(len(self._live) + len(self._resync)))

    def done(self, key: K) -> None:
        """The caller's work on ``key`` is over. Raises ``KeyError`` if it is not being worked on."""
        del self._working[key]
        if key in self._again:
            self.add(key, resync=self._again.pop(key))
        self._tell_settled()

    def retry(self, key: K, *, after: float | None = None) -> float:
        """Run ``key`` again after a back-off that grows with each failure in a row; the delay in seconds. A live
        ``add`` in the meantime, or one during this run, takes the place of it.

        ``after``: seconds that somebody else asked us to wait (``Retry-After``); that is no failure of ``key``.
        """
        if after is None:
            self._failures[key] = failures = self._failures.get(key, 0) + 1
        resync = self._working.get(key, False)
        delay = self._backoff.seconds(failures) if after is None else after
        if key in self._again and not self._again[key]:
            return 0.0
        self._again.pop(key, None)
        clock = self._clock or asyncio.get_running_loop()
        if key in self._delayed:
            self._delayed[key][1].cancel()
        self._delayed[key] = (clock.time() + delay, clock.call_later(delay, lambda: self._due(key, resync)))
        return delay

    def forget(self, key: K) -> None:
        """``key`` has succeeded: its next failure is its first."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """How often ``key`` has failed in a row."""
        return self._failures.get(key, 0)

    def pending(self) -> int:
        """How many keys wait for a worker or are being worked on."""
        return len(self._live) + len(self._resync) + len(self._working)

    def oldest_seconds(self) -> float:
        """For how long the key has waited for a worker that has waited longest; 0 if none waits."""
        added = [next(iter(waiting.values())) for waiting in (self._live, self._resync) if waiting]
        return max(0.0, time.monotonic() - min(added)) if added else 0.0

    def looked_over(self, key: K) -> bool:
        """Whether ``key`` is being worked on by a resync run."""
        return self._working.get(key, False)

    def backs_off(self, key: K) -> bool:
        """Whether ``key`` waits for a back-off to end."""
        return key in self._delayed

    def busy(self, key: K) -> bool:
        """Whether ``key`` waits, is being worked on, or is in a back-off."""
        return key in self._working or key in self._live or key in self._resync or key in self._delayed

    def asked_again(self, key: K) -> bool:
        """Whether another run of ``key`` was asked for while it is being worked on."""
        return key in self._again

    def delayed(self) -> dict[K, float]:
        """The keys that are in a back-off, with the clock's time at which each is due."""
        return {key: due for key, (due, _) in self._delayed.items()}

    @property
    def idle(self) -> bool:
        """Nothing waits for a worker or is being worked on; keys in a back-off don't count."""
        return not (self._live or self._resync or self._working)

    @property
    def settled(self) -> bool:
        """Idle, and nothing is in a back-off either."""
        return self.idle and not self._delayed

    async def wait_settled(self) -> None:
        """Return once the queue is settled, at once if it is. A key that fails for ever keeps it from that."""
        while not self.settled:
            told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(told)
            await told

    def close(self) -> None:
        """Call off all back-offs. Keys stay as they are."""
        for _, timer in self._delayed.values():
            timer.cancel()
        self._delayed.clear()
        self._tell_settled()

    def _due(self, key: K, resync: bool) -> None:
        del self._delayed[key]
        self.add(key, resync=resync)

    def _next(self) -> K:
        resync = bool(self._resync) and (not self._live or self._live_in_a_row >= LIVE_IN_A_ROW)
        key, _ = (self._resync if resync else self._live).popitem(last=False)
        self._live_in_a_row = 0 if resync or not self._resync else self._live_in_a_row + 1
        self._working[key] = resync
        return key

    def _hand_over(self) -> None:
        while self._getters and (self._live or self._resync):
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(self._next())

    def _tell_settled(self) -> None:
        if self._waiting and self.settled:
            waiting, self._waiting = self._waiting, []
            for told in waiting:
                if not told.done():
                    told.set_result(None)
