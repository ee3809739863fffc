"""What a process does before and after its command: streams that lose nothing, an early SIGHUP, threads that hang.

- A signal (the budget's timer ticks 20 times a second) ends a write to a slow reader early, and a non-blocking pipe
  accepts only what fits. Python's own streams silently lose the rest if they are unbuffered (``PYTHONUNBUFFERED=1``,
  which our image sets), and fail on a full pipe if they are buffered.
- Whoever changes a service's files sends SIGHUP, and can't know whether the service handles it already: reading and
  importing take a second or two. ``heed`` runs before both; ``server_process`` acts on the signal.
- Python waits at exit for every thread, and a thread that hangs in the kernel (a disk that does not answer) can't be
  interrupted. By then the command has finished its work.

State: it replaces ``sys.stdout`` and ``sys.stderr``, and keeps the replaced ones. Until ``server_process`` takes over
it owns the handler of SIGHUP.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import threading

    from _typeshed import ReadableBuffer

_REPLACED: list[TextIO] = []
"""Replaced streams: without a reference they would be closed, and their descriptors with them."""


class WholeWrites(io.RawIOBase):
    """A stream whose ``write`` returns when all data is written. Closing it leaves ``raw`` open."""

    def __init__(self, raw: io.FileIO) -> None:
        self._raw = raw
        self.name = raw.name

    def write(self, data: ReadableBuffer, /) -> int:
        """Write all of ``data``, and return its size in bytes. Waits while a non-blocking descriptor is full. Raises
        ``OSError`` (``BrokenPipeError`` if the reader is gone)."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        while rest:
            written = self._raw.write(rest)
            if written is None:
                select.select([], [self._raw], [])
            else:
                rest = rest[written:]
        return size

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()

    def writable(self) -> bool:
        return True


def write_wholly() -> None:
    """Replace ``sys.stdout`` and ``sys.stderr`` by streams that lose nothing, where they are plain files."""
    sys.stdout = _whole(sys.stdout)
    sys.stderr = _whole(sys.stderr)


def _whole(stream: TextIO) -> TextIO:
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)
    if not isinstance(stream, io.TextIOWrapper) or not isinstance(raw, io.FileIO):
        return stream
    stream.flush()
    _REPLACED.append(stream)
    whole = WholeWrites(raw)
    return io.TextIOWrapper(
        # An unbuffered stream stays one.
        whole if raw is buffer else io.BufferedWriter(whole),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


_PATIENCE = 3.0
"""Seconds that threads get to end."""


def leave_hanging_threads(code: int, patience: float = _PATIENCE) -> None:
    """Return if no other thread keeps the process alive; else end the process with ``code``."""
    import logging
    import time

    until = time.monotonic() + patience
    for thread in _keeping():
        thread.join(max(0.0, until - time.monotonic()))
    if not (hanging := _keeping()):
        return
    logging.getLogger("intentc").warning(
        "ending without waiting for what hangs: %s", ", ".join(sorted(thread.name for thread in hanging))
    )
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code)


def _keeping() -> list[threading.Thread]:
    """The threads that Python would wait for."""
    import threading

    return [each for each in threading.enumerate() if not each.daemon and each is not threading.current_thread()]


class Early:
    """``heard``: a SIGHUP arrived. ``terminal``: the terminal's file descriptor, if the process has one."""

    def __init__(self) -> None:
        self.heard = False
        self.terminal: int | None = None


_EARLY = Early()


def heed() -> None:
    """Remember SIGHUP from now on, unless it already has a handler or is ignored, as under ``nohup``."""
    if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        _EARLY.terminal = current_terminal()
        signal.signal(signal.SIGHUP, _remember)


def take() -> Early:
    """Return what was remembered, and forget it."""
    global _EARLY
    early, _EARLY = _EARLY, Early()
    return early


def current_terminal() -> int | None:
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
