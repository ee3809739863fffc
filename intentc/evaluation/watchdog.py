"""Ends the process, with its stacks on stderr, if the interpreter is held so long that nothing else can run.

For what no handler of Python's can cut off: a loop in C (``10**10**9``). A process that is held so keeps neither its
lease nor its promises; its successor finds the key under evaluation in the slot (``slot.py``). The limit is CPU time of
the process, which doesn't pass while it is stopped, starved or asleep (docs/adr/0006).
"""

from __future__ import annotations

import faulthandler
import signal
import sys
from types import TracebackType

_SECONDS = 10.0
_PERIOD = 1.0
"""Seconds between two settings of the timer."""


class Watchdog:
    """``with Watchdog() as dog``: SIGPROF ends the process ``seconds`` of its CPU time after the last ``pat`` that took
    effect. Main thread only; where the system has no such timer or signal, or stderr is no file, it does nothing."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._unpatted = 0.0
        self._watching = False

    def __enter__(self) -> Watchdog:
        if hasattr(signal, "setitimer") and hasattr(faulthandler, "register") and sys.__stderr__ is not None:
            # The default action, which is to end, comes after the stacks: that is what chaining does.
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
        """All is well, ``after`` seconds since the last time. The timer is set anew once a second."""
        self._unpatted += after
        if self._watching and self._unpatted >= min(_PERIOD, self._seconds / 10):
            self._wind()

    def _wind(self) -> None:
        self._unpatted = 0.0
        signal.setitimer(signal.ITIMER_PROF, self._seconds)
