"""``intentc show``: the running compiler's views: what it made, and what is wrong, as tables.

``compile --view`` prints the same of what it compiled itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import click

from ..errors import CommandError, Exit
from ..options import configured, output_option

if TYPE_CHECKING:
    from intentc.inspection.results import Results
    from intentc.loading.configuration import Loaded

_PAGE = 500
"""Rows that the compiler gives at once."""


@click.command(name="show")
@click.argument("view", required=False)
@click.option("--filter", "text", default="", help="Only rows with this text somewhere in them, whatever its case.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="At most so many rows.")
@output_option
@configured()
def command(view: str | None, text: str, limit: int, output: str, loaded: Loaded) -> int:
    """Show VIEW of the running compiler (`problems` there is always); without VIEW, which views there are.

    It shows what stands in etcd now, converged or not.
    """
    return anyio.run(_views, output, loaded) if view is None else anyio.run(_show, view, text, limit, output, loaded)


async def _views(output: str, loaded: Loaded) -> int:
    from ..output import print_document
    from ..waiting import asked

    answer = await asked(loaded.configuration.intentc.diagnostics, "/views")
    views = [{"name": name, "description": view["description"]} for name, view in answer["views"].items()]
    print_document(
        output, {"views": views}, ("name", "description"), [(view["name"], view["description"]) for view in views]
    )
    return Exit.DONE


async def _show(view: str, text: str, limit: int, output: str, loaded: Loaded) -> int:
    from urllib.parse import quote

    from ..waiting import asked

    diagnostics = loaded.configuration.intentc.diagnostics
    rows: list[dict[str, Any]] = []
    while True:
        parameters = {"filter": text, "offset": str(len(rows)), "limit": str(min(_PAGE, limit - len(rows)))}
        answer = await asked(diagnostics, f"/views/{quote(view, safe='')}", parameters)
        rows += answer["rows"]
        if not answer["rows"] or len(rows) >= min(limit, answer["total"]):
            break
    _print_rows(output, view, answer["columns"], rows, answer["total"])
    if len(rows) < answer["total"]:
        click.echo(f"these are {len(rows)} of {answer['total']} rows; --limit shows more, --filter chooses", err=True)
    return Exit.DONE


async def print_view(output: str, view: str, results: Results) -> None:
    """All rows of ``view`` of what was compiled in this process. Raises ``CommandError`` if there is no such view."""
    views = results.views
    if view not in views:
        raise CommandError(f"there is no view {view!r}; there are {', '.join(views)}", code=Exit.USAGE)
    rows = await results.rows(view, lambda row: True)
    _print_rows(output, view, views[view]["columns"], rows, len(rows))


def _print_rows(output: str, view: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], total: int) -> None:
    """``rows`` of ``view``, out of ``total``."""
    from ..output import print_document

    cells = [[cell(row.get(column)) for column in columns] for row in rows]
    print_document(output, {"view": view, "total": total, "rows": list(rows)}, columns, cells)


def cell(value: Any) -> str:
    """A JSON value as it stands in a table: the entries of lists with commas, the values of objects with blanks
    between, and ``-`` for nothing, so that columns can be counted."""
    return _words(value) or "-"


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(filter(None, map(_words, value.values())))
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
