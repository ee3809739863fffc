"""A SIGHUP that comes while a service starts: it is remembered, where without a handler it would end the process.

Why it exists: a service is asked to read again by whoever has written its files, who can't know whether it has come so
far that it hears. Reading and importing take a second or two; ``heed`` comes before both, so nothing slow is imported
here. What is done about a signal is ``signals``'s business.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


class Early:
    """``heard``: a SIGHUP has come. ``terminal``: where one is, if the process was started from one."""

    def __init__(self) -> None:
        self.heard = False
        self.terminal: int | None = None


_EARLY = Early()


def heed() -> None:
    """From now on SIGHUP is remembered, unless somebody else handles or ignores it already, as ``nohup`` does."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        _EARLY.terminal = terminal()
        signal.signal(signal.SIGHUP, _remember)


def take() -> Early:
    """What was remembered; it is forgotten with that."""
    global _EARLY
    early, _EARLY = _EARLY, Early()
    return early


def terminal() -> int | None:
    """The file descriptor at which a terminal is, if this process was started from one."""
    for stream in (sys.stdin, sys.stderr):
        try:
            if stream is not None and stream.isatty():
                return stream.fileno()
        except (OSError, ValueError):
            continue
    return None


def gone(descriptor: int | None) -> bool:
    """Whether there was a terminal and there is none any more."""
    return descriptor is not None and not os.isatty(descriptor)


def _remember(number: int, frame: FrameType | None) -> None:
    _EARLY.heard = True
