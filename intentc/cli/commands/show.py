"""``intentc show``: prints views of the running compiler as tables: its outputs, and problems.

``compile --view`` prints the same views of its own outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from intentc.loading.configuration import Loaded

from ..command_error import CommandError, Exit
from ..command_options import configured, output_option
from ..diagnostics_client import asked
from ..output import print_document

if TYPE_CHECKING:
    from intentc.inspection import Reader

_PAGE = 500
"""Rows in one answer of the running compiler."""


@click.command(name="show")
@click.argument("view", required=False)
@click.option("--filter", "text", default="", help="Only rows that contain this text, in upper or lower case.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="Maximum number of rows.")
@output_option
@configured()
async def command(view: str | None, text: str, limit: int, output: str, loaded: Loaded) -> int:
    """Show VIEW of the running compiler; without VIEW, list the views.

    Every compiler has `problems`, and `planned`: what would be written if writes were permitted, as with
    `run --observe`.

    A view shows the current content of etcd, converged or not.
    """
    diagnostics = loaded.configuration.intentc.diagnostics
    if view is None:
        answer = await asked(diagnostics, "/views")
        named = [(name, found["description"]) for name, found in answer["views"].items()]
        views = [{"name": name, "description": description} for name, description in named]
        print_document(output, {"views": views}, ("name", "description"), named)
        return Exit.DONE
    rows: list[dict[str, Any]] = []
    while True:
        parameters = {"filter": text, "offset": str(len(rows)), "limit": str(min(_PAGE, limit - len(rows)))}
        answer = await asked(diagnostics, f"/views/{quote(view, safe='')}", parameters)
        rows += answer["rows"]
        if not answer["rows"] or len(rows) >= min(limit, answer["total"]):
            break
    _print_rows(output, view, answer["columns"], rows, answer["total"])
    if output == "table" and not rows:
        click.echo(f"no {view} with {text!r}" if text else f"no {view}", err=True)
    if len(rows) < answer["total"]:
        click.echo(f"showing {len(rows)} of {answer['total']} rows; --limit shows more, --filter selects", err=True)
    return Exit.DONE


async def print_view(output: str, view: str, reader: Reader) -> None:
    """Print all rows of a view of the outputs of this process. Raises ``CommandError`` if there is no such view."""
    views = reader.views
    if view not in views:
        raise CommandError(f"there is no view {view!r}; there are {', '.join(views)}", code=Exit.USAGE)
    rows = await reader.rows(view, lambda row: True)
    _print_rows(output, view, views[view]["columns"], rows, len(rows))


def _print_rows(output: str, view: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], total: int) -> None:
    """Print ``rows`` of ``view``, out of ``total``."""
    cells = [[cell(row.get(column)) for column in columns] for row in rows]
    print_document(output, {"view": view, "total": total, "rows": list(rows)}, columns, cells)


def cell(value: Any) -> str:
    """A JSON value as a table cell: list entries separated by commas, object values by spaces, and ``-`` for an empty
    value, so that columns can be counted."""
    return _words(value) or "-"


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(filter(None, map(_words, value.values())))
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
