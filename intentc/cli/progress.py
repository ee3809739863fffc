"""How far a load is, as one line of a terminal, for the commands that serve.

Why not rich: lines of the log go to the same terminal meanwhile, and one line that gives way to them is all there is to
it. ``intentc status --watch`` shows the same from elsewhere.
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
    root, giving_way = logging.getLogger(), _GivingWay()
    root.handlers.insert(0, giving_way)
    try:
        while (now := progress()) is not None:
            sys.stderr.write(_ERASE + line(now))
            sys.stderr.flush()
            await anyio.sleep(_PERIOD)
    finally:
        root.removeHandler(giving_way)
        sys.stderr.write(_ERASE)
        sys.stderr.flush()


class _GivingWay(logging.Handler):
    """Erases the line before the log writes one in its place."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(_ERASE)


def line(progress: Mapping[str, Any]) -> str:
    """``evaluating ━━━━━━━━╌╌╌╌╌╌ 1,500 of 10,000``."""
    if not progress["total"]:
        return f"{progress['phase']} ..."
    part = round(_WIDTH * min(1.0, progress["done"] / progress["total"]))
    bar = "━" * part + "╌" * (_WIDTH - part)
    return f"{progress['phase']} {bar} {progress['done']:,} of {progress['total']:,}"
