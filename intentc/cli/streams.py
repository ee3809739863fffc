"""Replaces the standard streams by ones that write all data, even if a signal interrupts a write.

Why it exists: a signal (the budget's timer ticks 20 times a second) ends a write to a slow reader early, and a
non-blocking pipe accepts only what fits. Python's own streams silently lose the rest if they are unbuffered
(``PYTHONUNBUFFERED=1``, which our image sets), and fail on a full pipe if they are buffered. The commands decide what
is printed, and when it is flushed.

State: it replaces ``sys.stdout`` and ``sys.stderr``, and keeps the replaced ones. It writes to their descriptors, and
waits while these are full.
"""

from __future__ import annotations

import io
import select
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
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
