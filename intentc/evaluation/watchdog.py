"""Ends the process, with its stacks on stderr, if the interpreter is held so long that nothing else can run.

For what no Python handler can cut off: a loop in C (``10**10**9``). Such a process keeps neither its lease nor its
promises; its successor finds the key under evaluation in the crash marker (``crash_marker.py``). The limit is CPU time
of the process, which doesn't pass while it is stopped, starved or asleep (docs/adr/0006).

State: the CPU time since it was wound. It owns the process's profiling timer and ``SIGPROF``, whose handler writes to
stderr and ends the process.
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
