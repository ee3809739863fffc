"""The end of a process that a thread would keep: one that reads a disk which does not answer.

Why it exists: Python waits at its end for every thread, and one that hangs in the kernel can't be called back. By then
all that a command had to bring in order is in order, so nothing is lost by going without it.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time

_PATIENCE = 3.0
"""Seconds for threads that are about to end."""
_LOG = logging.getLogger("intentc")


def leave_hanging_threads(code: int, patience: float = _PATIENCE) -> None:
    """Returns if nothing but this thread keeps the process; else ends it with ``code``."""
    until = time.monotonic() + patience
    for thread in _keeping():
        thread.join(max(0.0, until - time.monotonic()))
    if not (hanging := _keeping()):
        return
    _LOG.warning("ending without waiting for what hangs: %s", ", ".join(sorted(thread.name for thread in hanging)))
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code)


def _keeping() -> list[threading.Thread]:
    """Those for which Python would wait."""
    return [each for each in threading.enumerate() if not each.daemon and each is not threading.current_thread()]
