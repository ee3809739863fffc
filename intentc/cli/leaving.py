"""Ends a process although a thread hangs, in reading a disk that does not answer for example.

Why it exists: Python waits at exit for every thread, and a thread that hangs in the kernel can't be interrupted. By
then the command has finished its work, so nothing is lost without the thread.

It waits for threads by the clock, logs, flushes the standard streams and logs, and may end the process.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time

_PATIENCE = 3.0
"""Seconds that threads get to end."""
_LOG = logging.getLogger("intentc")


def leave_hanging_threads(code: int, patience: float = _PATIENCE) -> None:
    """Return if no other thread keeps the process alive; else end the process with ``code``."""
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
    """The threads that Python would wait for."""
    return [each for each in threading.enumerate() if not each.daemon and each is not threading.current_thread()]
