"""Shows the progress of a load as one line on a terminal, for commands that serve.

Why not rich: the log writes to the same terminal, and one line that is erased before each log line is simple.
``intentc status --watch`` shows the same progress from another process.

State: the line that is shown, and a handler among those of the root logger while it shows.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

import anyio

_PERIOD = 0.2
_WIDTH = 30
_ERASE = "\r\033[K"


async def show_progress(progress: Callable[[], Mapping[str, Any] | None]) -> None:
    """Show ``progress`` ({``phase``, ``done``, ``total``}) on stderr until it is None; nothing where that is no
    terminal."""
    if not sys.stderr.isatty():
        return
    root, eraser = logging.getLogger(), _ProgressEraser()
    root.handlers.insert(0, eraser)
    try:
        while (now := progress()) is not None:
            sys.stderr.write(_ERASE + line(now))
            sys.stderr.flush()
            await anyio.sleep(_PERIOD)
    finally:
        root.removeHandler(eraser)
        sys.stderr.write(_ERASE)
        sys.stderr.flush()


class _ProgressEraser(logging.Handler):
    """Erases the progress line before the log writes a line."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(_ERASE)


def line(progress: Mapping[str, Any]) -> str:
    """``evaluating ━━━━━━━━╌╌╌╌╌╌ 1,500 of 10,000``."""
    if not progress["total"]:
        return f"{progress['phase']} ..."
    part = round(_WIDTH * min(1.0, progress["done"] / progress["total"]))
    bar = "━" * part + "╌" * (_WIDTH - part)
    return f"{progress['phase']} {bar} {progress['done']:,} of {progress['total']:,}"
