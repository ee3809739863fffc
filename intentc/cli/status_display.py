"""Displays ``intentc status --watch`` live on a terminal, with the progress of a first load.

Why apart: importing rich is slow, and only a terminal needs it.

State: what is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from .status_text import UNKNOWN, lines

_WIDTH = 40


@contextmanager
def display() -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A function that shows a status (``status_text.selected``) in place of the one before."""
    with Live(auto_refresh=False) as live:
        yield lambda content: live.update(rendered(content), refresh=True)


def rendered(content: Mapping[str, Any]) -> RenderableType:
    """The lines of a status, with a bar during the first load."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="bold", no_wrap=True)
    rows.add_column(overflow="fold")
    for name, text in lines(content):
        shown = Text(text)
        if name in ("converged", "healthy"):
            shown.stylize("green" if text == "yes" else "yellow" if text.startswith(UNKNOWN) else "bold red")
        elif name == "problems" and text != "none":
            shown.stylize("yellow")
        rows.add_row(name, shown)
    progress = content.get("progress")
    if not progress:
        return rows
    return Group(rows, bar(progress))


def bar(progress: Mapping[str, Any]) -> RenderableType:
    """One line: the phase of a first load, and its progress."""
    line = Table.grid(padding=(0, 2))
    line.add_row(
        Text(str(progress["phase"])),
        ProgressBar(total=progress["total"], completed=progress["done"], width=_WIDTH, pulse=not progress["total"]),
        Text(f"{progress['done']:,} of {progress['total']:,}" if progress["total"] else ""),
    )
    return line
