"""Remembers a SIGHUP that arrives while a service starts; without a handler it would end the process.

Why it exists: whoever changes a service's files sends SIGHUP, and can't know whether the service handles it already.
Reading and importing take a second or two; ``heed`` runs before both, so this module imports nothing slow. ``process``
acts on the signal.

State: whether one arrived, and the terminal of the process. It owns the process's handler of SIGHUP until ``process``
takes over, and asks whether descriptors are terminals.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


class Early:
    """``heard``: a SIGHUP arrived. ``terminal``: the terminal's file descriptor, if the process has one."""

    def __init__(self) -> None:
        self.heard = False
        self.terminal: int | None = None


_EARLY = Early()


def heed() -> None:
    """Remember SIGHUP from now on, unless it already has a handler or is ignored, as under ``nohup``."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        _EARLY.terminal = terminal()
        signal.signal(signal.SIGHUP, _remember)


def take() -> Early:
    """Return what was remembered, and forget it."""
    global _EARLY
    early, _EARLY = _EARLY, Early()
    return early


def terminal() -> int | None:
    """The file descriptor of the terminal, if this process was started from one."""
    for stream in (sys.stdin, sys.stderr):
        try:
            if stream is not None and stream.isatty():
                return stream.fileno()
        except (OSError, ValueError):
            continue
    return None


def is_closed(descriptor: int | None) -> bool:
    """Whether the terminal was closed."""
    return descriptor is not None and not os.isatty(descriptor)


def _remember(number: int, frame: FrameType | None) -> None:
    _EARLY.heard = True
