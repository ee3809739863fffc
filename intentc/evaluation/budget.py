"""Bounds the time of evaluations: one timer for the life of the process cuts off an evaluation that doesn't end.

An evaluation runs on the event loop, in the main thread, so an endless one would stop everything. The timer's handler
runs there between two bytecodes of the author's code, and raises (docs/engine.md §4.3). Four rules make that sound:

- **Arming costs nothing.** An evaluation that begins sets an attribute; the clock is read by the tick that first sees
  it. So a budget is accurate to two ticks.
- **Only the author's code is hit.** The handler raises only while a function marked as ``guarded`` is on the stack,
  whose caller catches the exception. While the world is read, which is our code, it does not raise; the next read does.
- **It gets through.** Code that catches everything catches this exception as well. So each cut makes the signal pending
  again, and the next one is raised at the very next point where the interpreter checks signals, until that function
  ends. No construct catches at every such point: the backward jump of a loop lies outside the ``try`` in it.
- **The collector waits.** It would run finalisers and callbacks of any code below that function: they would be hit as
  well, or fail for lack of stack at the depth that the author's code has reached. So it doesn't run during an
  evaluation.

Code that holds the interpreter in C never reaches such a point; ``Watchdog`` handles that.

State: the present run, in ``PROCESS`` for the whole process. It owns the process's real-time timer and ``SIGALRM``;
nothing else may set them. Besides, it switches the garbage collector off and on, reads the thread's CPU clock, logs,
resets the watchdog, and notifies the run that it cuts off.
"""

from __future__ import annotations

import _thread
import faulthandler
import gc
import logging
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from types import FrameType, FunctionType, TracebackType
from typing import Any, NamedTuple, Protocol, TypeVar

from .author_lines import CONTEXT_MODULE, author_line


class Limits(NamedTuple):
    """``objects``: resources and facts yielded by one evaluation (references count only by their bytes). ``size``:
    bytes of JSON of all that it yields. ``reads``: distinct reads. ``thread_seconds``: CPU time of the main thread;
    ``wall_seconds``: wall time while the process is not suspended. ``reasons``: calls of ``because``."""

    objects: int = 1_000
    size: int = 10_000_000
    reads: int = 100_000
    thread_seconds: float = 1.0
    wall_seconds: float = 5.0
    reasons: int = 20_000

    @property
    def when_asked(self) -> Limits:
        """The limits of a run made only to answer a question, which must not delay other work for long."""
        return self._replace(
            thread_seconds=min(self.thread_seconds, _ASKED_SECONDS), wall_seconds=min(self.wall_seconds, _ASKED_SECONDS)
        )


_ASKED_SECONDS = 0.25


class LimitExceeded(Exception):
    """An evaluation exceeded one of its limits; the message says which."""


_SECONDS = 10.0
_PERIOD = 1.0
"""Seconds between two settings of the timer."""


class Watchdog:
    """``with Watchdog() as dog``: SIGPROF ends the process ``seconds`` of CPU time after the last effective ``pat``.
    Main thread only; without such a timer or signal, or if stderr is no file, it does nothing."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._unpatted = 0.0
        self._watching = False

    def __enter__(self) -> Watchdog:
        if hasattr(signal, "setitimer") and hasattr(faulthandler, "register") and sys.__stderr__ is not None:
            # ``chain``: the stacks are printed first, then the default action ends the process.
            faulthandler.register(signal.SIGPROF, file=sys.__stderr__, all_threads=True, chain=True)
            self._watching = True
            self._wind()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._watching:
            self._watching = False  # first: a tick that comes now must not wind the timer again
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.unregister(signal.SIGPROF)

    def pat(self, after: float) -> None:
        """Reset the watchdog, ``after`` seconds since the last call. The timer is set once a second."""
        self._unpatted += after
        if self._watching and self._unpatted >= min(_PERIOD, self._seconds / 10):
            self._wind()

    def _wind(self) -> None:
        self._unpatted = 0.0
        signal.setitimer(signal.ITIMER_PROF, self._seconds)


_LOG = logging.getLogger(__name__)
_TICK = 0.05
_CLOSE_TICK = 0.01
_URGENT_TICK = 0.001
"""Seconds between ticks: normally, once an evaluation was seen twice, and when it exceeds its budget. The handler can't
run at the very limit of recursion, so it needs many tries."""

_SIGNAL = getattr(signal, "SIGALRM", signal.SIGINT)

Guarded = TypeVar("Guarded", bound=Callable[..., Any])


class BudgetExceeded(BaseException):
    """An evaluation exceeded its time. It is not an ``Exception``, so that code that catches those does not
    continue."""


class _Cut(BudgetExceeded):
    # ``raise _Cut`` makes an instance without passing a point where the interpreter checks signals. So the signal that
    # its creation sends is still pending when the author's code gets the exception.
    __init__ = staticmethod(partial(_thread.interrupt_main, _SIGNAL))


def guarded(function: Guarded) -> Guarded:
    """Declare that a function runs author's code. While it is on the stack, ``BudgetExceeded`` may be raised in it and
    anywhere below it; its caller catches it."""
    assert isinstance(function, FunctionType)
    _GUARDED.add(id(function.__code__))
    return function


_GUARDED: set[int] = set()
"""The ids of their code objects, which live as long as the process."""


class Run(Protocol):
    """What the budget needs of an evaluation."""

    limits: Limits
    overrun: str
    """The message passed to ``expire``; empty before."""

    def expire(self, message: str) -> None:
        """End its time: from now on each read raises ``BudgetExceeded(message)``."""


class Budget:
    """Bounds one evaluation after another. Outside ``enforced`` it bounds nothing."""

    def __init__(self) -> None:
        self._run: Run | None = None
        self._seen: Run | None = None
        self._since: float | None = None
        """CPU time when the evaluation was seen first."""
        self._waited = 0.0
        self._overdue = False
        self._tick = self._interval = _TICK
        self._collecting = False
        """Whether to enable the collector after the evaluation."""

    def begin(self, run: Run) -> None:
        """Start the budget of ``run``. Until ``end`` the garbage collector doesn't run."""
        self._collecting = gc.isenabled()
        gc.disable()
        self._run = run

    def end(self) -> None:
        """The evaluation has ended. Its garbage is collected soon, since allocations were counted meanwhile."""
        self._run = None
        if self._collecting:
            gc.enable()

    @contextmanager
    def enforced(self, *, tick: float = _TICK, watchdog: Watchdog | None = None) -> Iterator[None]:
        """Enforce budgets while the block runs, on any event loop; afterwards restore timer and handler.

        ``tick``: seconds between checks. ``watchdog``: ends the process if the interpreter is held; it is reset while
        evaluations end in time. Outside the main thread, and on systems without interval timers, nothing is bounded,
        and a warning says so.
        """
        if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
            _LOG.warning("evaluations are not bounded in time: that needs a timer signal in the main thread")
            yield
            return
        self._tick = self._interval = tick
        self._seen, self._overdue = None, False
        handler = signal.signal(_SIGNAL, partial(self.tick, watchdog))
        timer = signal.setitimer(signal.ITIMER_REAL, tick, tick)
        try:
            with watchdog or nullcontext():
                yield
        finally:
            # A pending tick restarts the timer, and without a handler its signal would end the process.
            signal.signal(_SIGNAL, _unheard)
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(_SIGNAL, handler)
            signal.setitimer(signal.ITIMER_REAL, *timer)

    def tick(self, watchdog: Watchdog | None, signal_number: int, frame: FrameType | None) -> None:
        """Run at each tick, between two bytecodes of the main thread, in ``frame``. Raises ``BudgetExceeded`` there if
        an evaluation must be cut off.

        Near the limit of recursion any call may be the last that succeeds, and the author's code then gets another
        exception. So each step leaves a state from which the next tick continues, the cheapest step first.
        """
        run = self._run
        if run is None or run is not self._seen:
            self._seen, self._overdue, self._waited, self._since = run, False, 0.0, None
            self._every(self._tick)
        elif not self._overdue:
            # Time in which the process was stopped doesn't count: wall time is measured by the ticks that were seen.
            self._waited += self._interval
            if self._since is None:
                self._since = time.thread_time()
            self._overdue = (
                self._waited >= run.limits.wall_seconds or time.thread_time() - self._since >= run.limits.thread_seconds
            )
            self._every(_URGENT_TICK if self._overdue else min(_CLOSE_TICK, self._tick))
        if run is not None and self._overdue:
            if not run.overrun:
                self._expire(run, frame)
            if _may_be_cut(frame):
                raise _Cut
        elif watchdog is not None:
            watchdog.pat(self._interval)

    def _every(self, seconds: float) -> None:
        if self._interval != seconds:
            signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
            self._interval = seconds

    def _expire(self, run: Run, frame: FrameType | None) -> None:
        """End the evaluation's time, with a message about how it was spent."""
        limits = run.limits
        by_wall = self._waited >= limits.wall_seconds
        spent = f"{limits.wall_seconds:g} s" if by_wall else f"{limits.thread_seconds:g} s of CPU time"
        try:
            place = author_line(traceback.walk_stack(frame)) if frame is not None else ""
        except RecursionError:
            place = "at the limit of recursion"
        run.expire(f"cut off after {spent}" + (f" ({place})" if place else ""))


def _unheard(signal_number: int, frame: FrameType | None) -> None:
    """Ignores a signal that is still pending."""


def _may_be_cut(frame: FrameType | None) -> bool:
    """Whether the frame is author's code, or was called by it other than through the context."""
    while frame is not None and id(frame.f_code) not in _GUARDED:
        if frame.f_globals.get("__name__") == CONTEXT_MODULE:
            return False
        frame = frame.f_back
    return frame is not None


PROCESS = Budget()
"""The budget of this process, which has one such timer and runs one evaluation at a time."""
