"""Prints the results of commands on stdout: a table for people, JSON or YAML for programs; and progress on stderr.

Tables are plain aligned columns, never cut, for people and for ``awk``. JSON and YAML have the same shape for one
result and for many, with its version. Progress is one line that is erased before each line of the log, which writes to
the same terminal.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import anyio
import click
import msgspec

from intentc.loading.resource_files import ANSWER_VERSION

_DAY = 86400.0


def print_document(
    form: str, content: Mapping[str, Any], columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """``content`` under ``apiVersion`` as JSON or YAML, or ``rows`` as a table."""
    if form == "table":
        click.echo(table(columns, rows), nl=bool(rows))
        return
    document = {"apiVersion": ANSWER_VERSION, **content}
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2))
    else:
        click.echo(msgspec.yaml.encode(document), nl=False)


def moment(since: float) -> str:
    """A time of day (UTC) for people, with the date if it is over a day ago; ``since``: seconds since 1970."""
    form = "%H:%M:%S UTC" if time.time() - since < _DAY else "%Y-%m-%d %H:%M:%S UTC"
    return datetime.fromtimestamp(since, UTC).strftime(form)


def span(seconds: float) -> str:
    """A length of time for people."""
    for size, unit in ((_DAY, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns under their names; empty without rows."""
    if not rows:
        return ""
    lines = [[column.upper() for column in columns], *rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


_PERIOD = 0.2
_BAR_WIDTH = 30
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
    part = round(_BAR_WIDTH * min(1.0, progress["done"] / progress["total"]))
    bar = "━" * part + "╌" * (_BAR_WIDTH - part)
    return f"{progress['phase']} {bar} {progress['done']:,} of {progress['total']:,}"
