"""Selects, pages and cuts the rows of ``/views``, the tables that compilers offer.

Why it exists: there may be 10,000 routes, and every answer must be small. Rows are selected by a text or a column, and
long lists within a row are cut. ``app`` has the paths; the compilers define the rows (``Browsed``).

It asks ``Browsed``, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .observed import Browsed
from .parameters import BadQuery, number

DEFAULT_ROWS = 100
MOST_ROWS = 500
MOST_ENTRIES = 100
"""Most entries of a list in a row."""

Row = dict[str, Any]


class Query(NamedTuple):
    """Selects rows. ``text``: occurs in the row, regardless of case; ``equal``: column → its value, or an entry of its
    list; of the selected rows, ``limit`` from ``offset`` on."""

    offset: int = 0
    limit: int = DEFAULT_ROWS
    text: str = ""
    equal: tuple[tuple[str, str], ...] = ()

    def wants(self, row: Row) -> bool:
        return all(value in _texts(row.get(column)) for column, value in self.equal) and (
            not self.text or any(self.text in text.lower() for value in row.values() for text in _texts(value))
        )


def query_of(parameters: Mapping[str, str], columns: list[str]) -> Query:
    """Read ``offset``, ``limit``, ``filter``, and column names. Raises ``BadQuery``."""
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
    """Return ``{"view", "columns", "total", "offset", "rows"}``; ``total``: number of selected rows. Raises
    ``KeyError`` if there is no such view."""
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
    """Return every text and number in a value, also within lists and objects."""
    if isinstance(value, dict):
        return {text for inner in value.values() for text in _texts(inner)}
    if isinstance(value, list | tuple):
        return {text for inner in value for text in _texts(inner)}
    return {str(value).lower() if isinstance(value, bool) else str(value)}


def _cut(value: Any) -> Any:
    if isinstance(value, list) and len(value) > MOST_ENTRIES:
        return [*value[:MOST_ENTRIES], f"… and {len(value) - MOST_ENTRIES} more"]
    return value
