"""Shapes the pages that list: objects, the quarantine, the journal, and the reaction map.

Why commands and no buttons in the quarantine: the pages are read-only, and a directive carries the name of the operator
(``intentc.directives``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from intentc.diagnostics.pages.rendering import link, short_name
from intentc.diagnostics.pages.words import quarantine_command
from intentc.diagnostics.questions import (
    NEWEST,
    STATES,
    JournalQuery,
    ObjectQuery,
    Quarantine,
    choice,
    number,
    offset_of,
)

QUARANTINED = 50
LINES = 60
SORTS = ("evaluation", "write")
_FINDINGS = 100
_EDGES = 400


def object_list(query: ObjectQuery, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the list's template."""
    total = int(answer["total"])

    def at(offset: int) -> str:
        return link("/pages/objects", kind=query.kind, filter=query.text, state=query.state, offset=offset)

    return {
        "query": query,
        "kinds": sorted(answer["kinds"].items()),
        "everything": sum(answer["kinds"].values()),
        "rows": answer["rows"],
        "states": STATES,
        "pager": pager(query.offset, len(answer["rows"]), total, query.limit, at),
    }


def pager(offset: int, shown: int, total: int, limit: int, at: Callable[[int], str]) -> dict[str, Any]:
    """Return the position in a paged list and the links to its neighbours; ``at``: offset → address."""
    return {
        "first": offset + 1 if shown else 0,
        "last": offset + shown,
        "total": total,
        "previous": at(max(0, offset - limit)) if offset else None,
        "next": at(offset + limit) if offset + shown < total and shown else None,
    }


def quarantine_query(parameters: Mapping[str, str]) -> Quarantine:
    """Read ``offset``. Raises ``BadQuery``."""
    return Quarantine(offset_of(parameters), QUARANTINED)


def quarantine_list(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template's values."""
    offset, entries = answer["offset"], answer["quarantine"]
    rows = [{**entry, "command": _command(entry)} for entry in entries]

    def at(offset: int) -> str:
        return link("/pages/quarantine", offset=offset)

    return {"rows": rows, "pager": pager(offset, len(rows), answer["total"], QUARANTINED, at)}


def _command(entry: Mapping[str, Any]) -> str:
    on = entry.get("on")
    other = (on["kind"], short_name(on)) if on else None
    return quarantine_command(entry["state"], entry["kind"], short_name(entry), other)


def journal_query(parameters: Mapping[str, str]) -> JournalQuery:
    """Read ``kind``, ``name``, ``sort``, ``before``. Raises ``BadQuery``."""
    return JournalQuery(
        limit=LINES,
        kind=parameters.get("kind", "").strip(),
        name=parameters.get("name", "").strip(),
        sort=choice(parameters, "sort", SORTS),
        before=number(parameters, "before", NEWEST, 1, NEWEST),
    )


def line_list(query: JournalQuery, answer: Mapping[str, Any]) -> dict[str, Any]:
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


def reaction_list(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template's values."""
    return {
        "answer": answer,
        "edges": answer["edges"][:_EDGES],
        "edges_total": len(answer["edges"]),
        "findings": answer["findings"][:_FINDINGS],
        "missing": answer["missing"][:_FINDINGS],
    }
