"""A queue that holds each key at most once and never gives it to two workers at once.

Why our own: coalescing keeps a storm of events cheap. Adding a waiting key only updates it; adding a key that is being
worked on makes it run again afterwards; so 10,000 events on one hub are a few jobs. Live changes precede resync, but
every eighth job is a resync one, so that neither starves. A failed key returns after a back-off, and a live change of
it does not wait for that.

It uses asyncio's futures, for one event loop; nothing in it blocks or polls. The engine defines the jobs, the number of
workers, and what counts as a failure.

State, in memory: the keys that wait, since when, how many live ones went ahead of a resync one, those under work or in
a back-off, those to run again, how often each failed, until it is forgotten, and the tasks that wait for a key or for
the end of all work.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Set
from typing import Generic, Protocol, TypeVar

from intentc.reconcile.backoff import Backoff

K = TypeVar("K", bound=Hashable)

RETRY = Backoff(0.005, 60.0)
LIVE_IN_A_ROW = 7
"""Live keys that may pass while a resync one waits: every eighth job is a resync one (docs/engine.md §11.2)."""


class Timer(Protocol):
    """A scheduled call that can be cancelled."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Time for back-offs, in seconds. An asyncio loop is one; tests pass their own."""

    def time(self) -> float: ...

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Timer: ...


class KeyedQueue(Generic[K]):
    """The queue. ``Loop`` takes a key, works on it, and calls ``forget``, or ``retry`` after a failure, and ``done``.

    ``clock``: by default the running loop. ``backoff``: the delays of ``retry``.
    """

    def __init__(self, *, clock: Clock | None = None, backoff: Backoff = RETRY) -> None:
        self._clock = clock
        self._backoff = backoff
        self.changed = asyncio.Event()
        """Set when a key begins to wait for a worker; the waiting task clears it."""
        # Ordered dicts, since taking the first key of a plain dict again and again is quadratic.
        # The values are when each was added, by the monotonic clock.
        self._live: OrderedDict[K, float] = OrderedDict()
        self._resync: OrderedDict[K, float] = OrderedDict()
        self._working: dict[K, bool] = {}
        self._again: dict[K, bool] = {}
        self._failures: dict[K, int] = {}
        self._delayed: dict[K, tuple[float, Timer]] = {}
        self._live_in_a_row = 0

    def add(self, key: K, *, resync: bool = False) -> None:
        """Request a run of ``key``. ``resync``: nothing changed, the key is only checked again; such a request never
        overtakes a back-off, and is dropped if a live run is due anyway."""
        if key in self._delayed:
            if resync:
                return
            self._delayed.pop(key)[1].cancel()
        if key in self._working:
            self._again[key] = resync and self._again.get(key, True)
        elif not resync:
            self._resync.pop(key, None)
            self._live.setdefault(key, time.monotonic())
            self.changed.set()
        elif key not in self._live:
            self._resync.setdefault(key, time.monotonic())
            self.changed.set()

    def take(self) -> K | None:
        """The next key; None if none waits. The caller works on it, and must call ``done`` for it."""
        return self._next() if self._live or self._resync else None

    def take_all(self) -> tuple[K, ...]:
        """Every waiting key, in the order of ``take``; the caller must call ``done`` for each."""
        return tuple(self._next() for _ in range(len(self._live) + len(self._resync)))

    def done(self, key: K) -> None:
        """End the caller's work on ``key``. Raises ``KeyError`` if it is not being worked on."""
        del self._working[key]
        if key in self._again:
            self.add(key, resync=self._again.pop(key))

    def retry(
        self,
        key: K,
        *,
        after: float | None = None,
        resync: bool = False,
        backoff: Backoff | None = None,
        at_least: float = 0.0,
    ) -> float:
        """Run ``key`` again after a back-off that grows with each failure in a row; return the delay in seconds. A live
        ``add`` in the meantime, or one during this run, replaces it.

        ``after``: seconds that a server asked us to wait (``Retry-After``); that is no failure of ``key``. ``resync``:
        live keys precede it then, even if this run was a live one. ``backoff``: in place of the queue's. ``at_least``:
        seconds that a server asked us to wait after a failure of ``key``.
        """
        if after is None:
            self._failures[key] = failures = self._failures.get(key, 0) + 1
        resync = resync or self._working.get(key, False)
        delay = max(at_least, (backoff or self._backoff).seconds(failures)) if after is None else after
        if key in self._again and not self._again[key]:
            return 0.0
        self._again.pop(key, None)
        clock = self._clock or asyncio.get_running_loop()
        if key in self._delayed:
            self._delayed[key][1].cancel()
        self._delayed[key] = (clock.time() + delay, clock.call_later(delay, lambda: self._due(key, resync)))
        return delay

    def forget(self, key: K) -> None:
        """Record that ``key`` has succeeded: its next failure counts as the first."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """The number of failures of ``key`` in a row."""
        return self._failures.get(key, 0)

    @property
    def waiting(self) -> int:
        """The number of keys that wait for a worker."""
        return len(self._live) + len(self._resync)

    @property
    def working(self) -> Set[K]:
        """The keys that are being worked on."""
        return self._working.keys()

    def pending(self) -> int:
        """The number of keys that wait for a worker or are being worked on."""
        return len(self._live) + len(self._resync) + len(self._working)

    def oldest_seconds(self) -> float:
        """Seconds that the oldest waiting key has waited for a worker; 0 if none waits."""
        added = [next(iter(waiting.values())) for waiting in (self._live, self._resync) if waiting]
        return max(0.0, time.monotonic() - min(added)) if added else 0.0

    def is_resync(self, key: K) -> bool:
        """Whether ``key`` is being worked on by a resync run."""
        return self._working.get(key, False)

    def backs_off(self, key: K) -> bool:
        """Whether ``key`` waits for a back-off to end."""
        return key in self._delayed

    def busy(self, key: K) -> bool:
        """Whether ``key`` waits, is being worked on, or is in a back-off."""
        return key in self._working or key in self._live or key in self._resync or key in self._delayed

    def asked_again(self, key: K) -> bool:
        """Whether another run of ``key`` was requested while it is being worked on."""
        return key in self._again

    def seconds_left(self, key: K) -> float | None:
        """Seconds until the back-off of ``key`` ends; None if it is in none."""
        if key not in self._delayed:
            return None
        clock = self._clock or asyncio.get_running_loop()
        return max(0.0, self._delayed[key][0] - clock.time())

    def delayed(self) -> dict[K, float]:
        """The keys in a back-off, with the clock's time at which each is due."""
        return {key: due for key, (due, _) in self._delayed.items()}

    @property
    def idle(self) -> bool:
        """Whether nothing waits for a worker or is being worked on; keys in a back-off don't count."""
        return not (self._live or self._resync or self._working)

    @property
    def settled(self) -> bool:
        """Whether it is idle and nothing is in a back-off either."""
        return self.idle and not self._delayed

    def close(self) -> None:
        """Cancel all back-offs. Keys stay as they are."""
        for _, timer in self._delayed.values():
            timer.cancel()
        self._delayed.clear()

    def _due(self, key: K, resync: bool) -> None:
        del self._delayed[key]
        self.add(key, resync=resync)

    def _next(self) -> K:
        resync = bool(self._resync) and (not self._live or self._live_in_a_row >= LIVE_IN_A_ROW)
        key, _ = (self._resync if resync else self._live).popitem(last=False)
        self._live_in_a_row = 0 if resync or not self._resync else self._live_in_a_row + 1
        self._working[key] = resync
        return key
