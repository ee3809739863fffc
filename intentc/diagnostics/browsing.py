"""``/views``: what the compilers let people look at, a page at a time.

Why it exists: there may be ten thousand routes, and every answer is to be small: rows are chosen by a text or a column,
and long lists within a row are cut. What the rows are is the compilers' business (``Browsed``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .observed import Browsed
from .parameters import BadQuery, number

DEFAULT_ROWS = 100
MOST_ROWS = 500
MOST_ENTRIES = 100
"""Of a list in a row."""

Row = dict[str, Any]


class Query(NamedTuple):
    """Which rows: ``text`` stands somewhere in them, whatever its case; ``equal``: column → what it is, or what its
    list holds; of those, ``limit`` from ``offset`` on."""

    offset: int = 0
    limit: int = DEFAULT_ROWS
    text: str = ""
    equal: tuple[tuple[str, str], ...] = ()

    def wants(self, row: Row) -> bool:
        return all(value in _texts(row.get(column)) for column, value in self.equal) and (
            not self.text or any(self.text in text.lower() for value in row.values() for text in _texts(value))
        )


def query_of(parameters: Mapping[str, str], columns: list[str]) -> Query:
    """From ``offset``, ``limit``, ``filter``, and names of columns. Raises ``BadQuery``."""
    equal = {name: value for name, value in parameters.items() if name not in ("offset", "limit", "filter", "pretty")}
    for name in equal:
        if name not in columns:
            raise BadQuery(f"no parameter {name!r}; there are offset, limit, filter, and columns: {', '.join(columns)}")
    return Query(
        offset=number(parameters, "offset", 0, 0, 10**9),
        limit=number(parameters, "limit", DEFAULT_ROWS, 1, MOST_ROWS),
        text=parameters.get("filter", "").lower(),
        equal=tuple(sorted(equal.items())),
    )


async def page(browsed: Browsed, view: str, query: Query) -> dict[str, Any]:
    """``{"view", "columns", "total", "offset", "rows"}``; ``total``: of the rows that are wanted. Raises ``KeyError``
    if there is no such view."""
    rows = await browsed.rows(view, query.wants)
    chosen = rows[query.offset : query.offset + query.limit]
    return {
        "view": view,
        "columns": browsed.views[view]["columns"],
        "total": len(rows),
        "offset": query.offset,
        "rows": [{column: _cut(value) for column, value in row.items()} for row in chosen],
    }


def _texts(value: Any) -> set[str]:
    """Every text and number in a value; of a list of objects those in the objects."""
    if isinstance(value, dict):
        return {text for inner in value.values() for text in _texts(inner)}
    if isinstance(value, list | tuple):
        return {text for inner in value for text in _texts(inner)}
    return {str(value).lower() if isinstance(value, bool) else str(value)}


def _cut(value: Any) -> Any:
    if isinstance(value, list) and len(value) > MOST_ENTRIES:
        return [*value[:MOST_ENTRIES], f"… and {len(value) - MOST_ENTRIES} more"]
    return value
