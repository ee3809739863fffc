"""Runs ``reconcile(key)`` for each queued key: the one loop of all components that repeat work by key.

The loop owns what they have in common: how many keys are worked on at once, the back-off of a key that fails, the pause
of all keys while a system is away, whether work may begin at all, turns for other tasks, and the end. A component
defines what is done for a key, and adds keys; it never sleeps, counts failures, or wakes itself.

A key that fails waits for a back-off of its own, and then yields to keys that have not failed, so it delays another by
one attempt at most. Only a failure that concerns all keys (``failures``) makes all of them wait.

State: a loop's queue, keys under way and counters; a pause's end, and the key that caused it. Several loops may change
one pause.
"""

from __future__ import annotations

import asyncio
import logging
import math
from bisect import bisect_right
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from typing import Any, Generic, NamedTuple, TypeVar

import anyio

from .backoff import Backoff, Retries
from .failures import Failure, UnknownOutcome
from .keyed import RETRY, KeyedQueue

_LOG = logging.getLogger(__name__)
_SLICE = 0.004
"""Seconds of work after which other tasks get a turn; asyncio switches tasks only when one awaits."""
_LONG = 0.002
"""Seconds. After a longer piece of synchronous work, other tasks get several turns: for timers that came due
meanwhile, and then for the tasks that these wake."""
_TURNS = 3
AWAY = Backoff(0.2, 30.0)
"""The pauses of all keys while a system is away."""
_LONGEST_PAUSE = 3600.0
"""Seconds: the longest pause that a system can ask for."""

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class RequeueAfter(NamedTuple):
    """The run ended well, and the key is due again after so many seconds, or once it is added.

    ``keeps_failures``: nothing was tried, so the next failure continues the row of former ones.
    """

    seconds: float
    keeps_failures: bool = False


Result = RequeueAfter | None
"""What a run returns: None if the key is done."""


async def persist(
    attempt: Callable[[], Awaitable[T]],
    lack: str,
    *,
    log: logging.Logger,
    retries: Retries | None = None,
    on_failure: Callable[[str], None] = lambda why: None,
) -> T:
    """Repeat ``attempt`` until it succeeds, with the pauses of ``retries``, and return its result.

    The first ``Failure`` is logged, then success. ``lack``: what is wrong until then, in words. ``on_failure``: called
    with the whole sentence after each failure.
    """
    retries = retries or Retries()
    is_logged = False
    while True:
        try:
            result = await attempt()
        except Failure as failure:
            why = f"{lack} yet: {failure}"
            if not is_logged:
                log.warning("%s; trying again", why)
            is_logged = True
            on_failure(why)
            await asyncio.sleep(retries.next_wait())
        else:
            if is_logged:
                log.info("succeeded after the failure %r", lack)
            return result


def open_while(is_open: Callable[[], bool]) -> Callable[[], float]:
    """The gate of a loop that works while ``is_open()``; call the loop's ``wake`` when it becomes true."""
    return lambda: 0.0 if is_open() else math.inf


class Pause:
    """How long all keys wait for a system that is away or asks for time. Loops that use one system share its pause.

    Times are those of the running loop.
    """

    def __init__(self, backoff: Backoff | None = None) -> None:
        self._backoff = backoff or AWAY
        self._ends = 0.0
        self._suspect: Hashable = None
        self._others_answered = False
        self.failures = 0
        """How many pauses have begun since the last answer."""

    @property
    def seconds(self) -> float:
        """Seconds until the system may be asked; 0 for now."""
        return max(0.0, self._ends - asyncio.get_running_loop().time()) if self._ends else 0.0

    def failed(self, failure: Failure, key: Hashable) -> bool:
        """Begin a pause, or extend it if the system asks for more. False if ``key`` alone is to wait: it caused the
        last pause as well, and others were answered since."""
        if self._others_answered and key == self._suspect:
            return False
        self._suspect, self._others_answered = key, False
        if not self.seconds:
            self.failures += 1
            self._extend(self._backoff.seconds(self.failures))
        self._extend(min(failure.seconds, _LONGEST_PAUSE))
        return True

    def answered(self, key: Hashable) -> None:
        """The system has answered a call for ``key``: the next pause is a first one."""
        self.failures = 0
        if key == self._suspect:
            self._suspect = None
        else:
            self._others_answered = True

    def _extend(self, seconds: float) -> None:
        self._ends = max(self._ends, asyncio.get_running_loop().time() + seconds)


class Loop(Generic[K]):
    """A queue of keys, and the work on them. ``run`` works until it is cancelled; ``step`` does what is queued now.

    ``reconcile``: brings one key in line. It may be synchronous, a coroutine function, or do its first part at once and
    return a coroutine for the rest (plan, then write). It raises a ``Failure``; any other ``Exception`` is a fault of
    our own, which delays this key alone. The synchronous parts run one after the other, in the order of the queue.

    ``queue``: one that others fill as well; by default the loop makes its own.
    ``workers``: coroutines under way at once; a key is never with two of them.
    ``gate``: seconds until work may begin; 0 for now, ``math.inf`` until ``wake`` is called. It is asked before each
    key; a key that has begun is not stopped.
    ``backoff``: of a key that fails. ``pause``: of all keys, after a failure that concerns them all.
    ``order``: sorts the keys that wait at the same time; without it, keys are taken in the order of the queue.
    ``stage``: of those, a key begins when no coroutine of another stage is under way. Needs ``order``, which sorts by
    stages first.
    ``on_failure``: called with the key and the exception after each failed run, from an ``except`` clause, before the
    key is queued again; if it raises, that ends ``run`` or ``step``. By default the failure is logged.
    ``on_end``: called after each run, when the key is done or queued again.
    """

    def __init__(
        self,
        reconcile: Callable[[K], Result | Coroutine[Any, Any, Result]],
        *,
        name: str = "",
        queue: KeyedQueue[K] | None = None,
        workers: int = 1,
        gate: Callable[[], float] = lambda: 0.0,
        backoff: Backoff = RETRY,
        pause: Pause | None = None,
        order: Callable[[K], Any] | None = None,
        stage: Callable[[K], Any] = lambda key: 0,
        on_failure: Callable[[K, Exception], None] | None = None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._reconcile = reconcile
        self._name = name or getattr(reconcile, "__qualname__", "loop")
        self._workers = workers
        self._gate = gate
        self._pause = pause or Pause()
        self._order = order
        self._stage = stage
        self._stage_under_way: Any = None
        self._on_failure = on_failure or self._log_failure
        self._on_end = on_end
        self._batch: deque[K] = deque()
        self._tasks: dict[K, asyncio.Task[None]] = {}
        self._fault: Exception | None = None
        self._slice_ends = 0.0
        self.queue: KeyedQueue[K] = queue if queue is not None else KeyedQueue(backoff=backoff)
        self._wake = self.queue.changed
        self.runs = 0
        """Runs that have ended."""

    # What is to be done.

    def add(self, key: K, *, resync: bool = False, unchanged: bool = False, after: float = 0.0) -> None:
        """Have ``key`` worked on. ``resync``: nothing changed, so live keys precede it, and a back-off goes on.
        ``unchanged``: what failed would be tried again as it was, so a key that is in a back-off stays there.
        ``after``: in so many seconds, unless it is added in the meantime."""
        if after:
            self.queue.retry(key, after=after, resync=resync)
            return
        self.queue.add(key, resync=resync or (unchanged and self.queue.failures(key) > 0))

    def end_backoff(self, key: K) -> None:
        """Have ``key`` worked on now if it waits for a back-off: there may be nothing left to do for it."""
        if self.queue.backs_off(key):
            self.queue.add(key)

    def wake(self) -> None:
        """Ask the gate again."""
        self._wake.set()

    @property
    def in_flight(self) -> int:
        """Keys whose coroutines are under way."""
        return len(self._tasks)

    @property
    def idle(self) -> bool:
        """Whether no key waits or is worked on; those in a back-off don't count."""
        return self.queue.idle

    @property
    def settled(self) -> bool:
        """Whether it is idle, and no key is in a back-off."""
        return self.queue.settled

    # The work.

    async def run(self, *, drain: bool = True) -> None:
        """Work until cancelled; then cancel the coroutines under way. ``drain`` false: they go on, and the caller
        calls ``drain``."""
        clock = asyncio.get_running_loop().time
        try:
            while True:
                if seconds := self._seconds_to_wait():
                    await self._sleep(seconds)
                    continue
                began = clock()
                self._begin(self._take())
                ended = clock()
                if ended - began > _LONG:
                    for _ in range(_TURNS):
                        await asyncio.sleep(0)
                    ended = clock()
                if ended >= self._slice_ends:
                    await asyncio.sleep(0)
                    self._slice_ends = clock() + _SLICE
        finally:
            if drain:
                await self.drain()

    async def step(self) -> bool:
        """Work on the keys that wait now, one after the other, in the caller's task. Stop early if the gate or a pause
        closes. True if a key was worked on."""
        count = self.queue.waiting + len(self._batch)
        for number in range(count):
            if self._is_closed() or not (self._batch or self.queue.waiting):
                return number > 0
            key = self._take()
            rest = self._start(key)
            if rest is not None:
                await self._finish(key, rest)
            self._raise_fault()
        return count > 0

    async def drain(self, seconds: float = 0.0) -> None:
        """Give the coroutines under way so much time to end, then cancel them. Call it when ``run`` has ended."""
        with anyio.CancelScope(shield=True):
            if self._tasks and seconds:
                await asyncio.wait(self._tasks.values(), timeout=seconds)
            # So that each has begun: a coroutine that nobody awaited is reported as a fault.
            await asyncio.sleep(0)
            left, self._tasks = self._tasks, {}
            for task in left.values():
                task.cancel()
            if left:
                await asyncio.wait(left.values())
        for key in left.keys() & self.queue.working:
            # It was not done.
            self.queue.add(key)
            self.queue.done(key)

    def _seconds_to_wait(self) -> float:
        """Seconds until work on a key may begin; infinite if that depends on an event."""
        if self._fault is not None:
            self._raise_fault()
        if not (self._batch or self.queue.waiting) or len(self._tasks) >= self._workers:
            return math.inf
        closed = self._is_closed()
        if not closed and self._order is not None and self._tasks:
            self._fill_batch()
            if self._stage(self._batch[0]) != self._stage_under_way:
                return math.inf
        return closed

    def _is_closed(self) -> float:
        # After a pause the gate is asked again.
        return self._pause.seconds or self._gate()

    async def _sleep(self, seconds: float) -> None:
        """Return after so many seconds, or once the result of ``_seconds_to_wait`` may have changed."""
        self._wake.clear()
        timer = None
        if seconds < math.inf:
            timer = asyncio.get_running_loop().call_later(seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            if timer is not None:
                timer.cancel()

    def _fill_batch(self) -> None:
        if self._order is not None and not self._batch:
            self._batch.extend(sorted(self.queue.take_all(), key=self._order))

    def _take(self) -> K:
        if self._order is not None:
            self._fill_batch()
            return self._batch.popleft()
        key = self.queue.take()
        assert key is not None
        return key

    def _begin(self, key: K) -> None:
        rest = self._start(key)
        if rest is not None:
            self._stage_under_way = self._stage(key)
            self._tasks[key] = asyncio.create_task(self._finish(key, rest), name=self._name)

    def _start(self, key: K) -> Coroutine[Any, Any, Result] | None:
        """Do the synchronous part; returns the rest, if any."""
        try:
            result = self._reconcile(key)
        except Exception as error:
            self._conclude(key, error)
            return None
        if result is None or isinstance(result, RequeueAfter):
            self._conclude(key, result)
            return None
        return result

    async def _finish(self, key: K, rest: Coroutine[Any, Any, Result]) -> None:
        try:
            result = await rest
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # The call was cancelled, and not its caller.
            self._conclude(key, UnknownOutcome("the call was cancelled"))
        except Exception as error:
            self._conclude(key, error)
        else:
            self._conclude(key, result)

    def _conclude(self, key: K, result: Result | Exception) -> None:
        """End a run. An exception of the owner's functions here ends the loop."""
        self.runs += 1
        if self._tasks.pop(key, None) is not None:
            self._wake.set()
        is_kept = False
        try:
            if isinstance(result, Exception):
                self._on_failure(key, result)
                is_kept = self._queue_failed(key, result)
            else:
                if result is None or not result.keeps_failures:
                    self._pause.answered(key)
                    self.queue.forget(key)
                if result is not None:
                    self.queue.retry(key, after=result.seconds)
        except Exception as error:
            self._fault = error
            self.queue.add(key)
        if not is_kept:
            self.queue.done(key)
        try:
            self._on_end()
        except Exception as error:
            self._fault = error

    def _queue_failed(self, key: K, error: Exception) -> bool:
        """Queue a failed key again. True if the present batch keeps it."""
        if not isinstance(error, Failure):
            self.queue.retry(key, resync=True)
        elif error.concerns_all and self._pause.failed(error, key):
            # Next time, others of its stage go first: the failure may be about this key after all.
            if self._batch:
                self._batch.insert(bisect_right(self._batch, self._stage(key), key=self._stage), key)
                return True
            self.queue.add(key, resync=True)
        else:
            if not error.concerns_all:
                self._pause.answered(key)
            self.queue.retry(key, resync=True, backoff=error.backoff, at_least=error.seconds)
        return False

    def _log_failure(self, key: K, error: Exception) -> None:
        extra = {"key": str(key)}
        if not isinstance(error, Failure):
            _LOG.exception("%s: work failed unexpectedly", self._name, extra=extra)
            return
        row = self._pause.failures if error.concerns_all else self.queue.failures(key)
        _LOG.log(logging.DEBUG if row else logging.WARNING, "%s: %s", self._name, error, extra=extra)

    def _raise_fault(self) -> None:
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault
