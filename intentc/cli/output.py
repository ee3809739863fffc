"""Prints the results of commands on stdout: a table for people, JSON or YAML for programs.

Tables are plain aligned columns, never cut, for people and for ``awk``. JSON and YAML have the same shape for one
result and for many, with its version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
import msgspec

from intentc.loading.resources import ANSWER_VERSION


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


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns under their names; empty without rows."""
    if not rows:
        return ""
    lines = [[column.upper() for column in columns], *rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
