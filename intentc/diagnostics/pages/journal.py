"""Shapes the journal's page: the last lines, the newest first, of everything or of one resource, with paging.

Pure: a query or an answer in, values out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..observed import JournalQuery
from ..parameters import choice, number
from .rendering import link

ROWS = 60
SORTS = ("evaluation", "write")
NEWEST = 10**15
"""Larger than any sequence: ``before`` in a query for the last lines."""


def query_of(parameters: Mapping[str, str]) -> JournalQuery:
    """Read ``kind``, ``name``, ``sort``, ``before``. Raises ``BadQuery``."""
    return JournalQuery(
        limit=ROWS,
        kind=parameters.get("kind", "").strip(),
        name=parameters.get("name", "").strip(),
        sort=choice(parameters, "sort", SORTS),
        before=number(parameters, "before", NEWEST, 1, NEWEST),
    )


def shown(query: JournalQuery, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template's values."""
    lines = list(reversed(answer["lines"]))
    newest = query.before == NEWEST

    def at(before: int) -> str:
        return link("/pages/journal", kind=query.kind, name=query.name, sort=query.sort, before=before)

    more = answer.get("more", len(lines) >= query.limit and lines[-1]["sequence"] > answer["first"])
    older = bool(lines) and more
    return {
        "query": query,
        "kind": answer.get("kind", query.kind),
        "sorts": SORTS,
        "lines": lines,
        "first": answer["first"],
        "last": answer["last"],
        "newest": newest,
        "back": at(0),
        "older": at(lines[-1]["sequence"]) if older else None,
    }
