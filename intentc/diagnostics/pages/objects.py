"""Shapes the objects' pages: the searchable list, and one object with everything known about it.

Why it exists: the page of an object combines three answers (why, desired and actual, neighbourhood), and if one fails
the others must still be shown.

``about`` asks ``Asked``; the rest is pure. It changes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, NamedTuple

from ..asking import MOST_OFFSET
from ..asking import STATES as ASKED_FOR
from ..observed import Asked, ObjectQuery, Unanswerable
from ..parameters import choice, needed, number
from ..value_paths import value_at
from .rendering import link, short_name

ROWS = 50
PARTS = 40
"""Most parts on a page. Answers have limits as well, but a page has no room for 100 sources per part."""
LISTED = 30
"""Most entries of other lists: reads, outputs, sources of a part, readers."""
DIFFERENCES = 50
DEPTHS = (1, 2, 3, 4)


class Wanted(NamedTuple):
    """The object of a page. ``part``: only parts with this text; ``offset``: of the parts; ``depth`` and ``kinds``
    (separated by commas): of the neighbourhood."""

    kind: str
    name: str
    part: str
    offset: int
    depth: int
    kinds: str


def query_of(parameters: Mapping[str, str]) -> ObjectQuery:
    """Read ``kind``, ``filter``, ``state``, ``offset``. Raises ``BadQuery``."""
    return ObjectQuery(
        kind=parameters.get("kind", "").strip(),
        text=parameters.get("filter", "").strip(),
        state=choice(parameters, "state", ASKED_FOR),
        offset=number(parameters, "offset", 0, 0, MOST_OFFSET),
        limit=ROWS,
    )


def listing(query: ObjectQuery, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the list's template."""
    total = int(answer["total"])

    def at(offset: int) -> str:
        return link("/pages/objects", kind=query.kind, filter=query.text, state=query.state, offset=offset)

    return {
        "query": query,
        "kinds": sorted(answer["kinds"].items()),
        "everything": sum(answer["kinds"].values()),
        "rows": answer["rows"],
        "states": ASKED_FOR,
        "pager": pager(query.offset, len(answer["rows"]), total, query.limit, at),
    }


def wanted_of(parameters: Mapping[str, str]) -> Wanted:
    """Read ``kind``, ``name``, ``part``, ``offset``, ``depth``, ``kinds``. Raises ``BadQuery``."""
    example = "/pages/object?kind=KIND&name=NAME, or search for it among the objects"
    return Wanted(
        needed(parameters, "kind", example),
        needed(parameters, "name", example),
        parameters.get("part", ""),
        number(parameters, "offset", 0, 0, MOST_OFFSET),
        number(parameters, "depth", 1, DEPTHS[0], DEPTHS[-1]),
        parameters.get("kinds", "").strip(),
    )


async def about(asked: Asked, wanted: Wanted) -> dict[str, Any]:
    """Return the values of the object's template. Raises ``Unanswerable`` if ``why`` has no answer; the reason replaces
    any other missing answer."""
    why = await asked.why(wanted.kind, wanted.name, wanted.part, wanted.offset, PARTS)
    kind, name = why["kind"], why["uuid"] or why["name"]
    wanted = wanted._replace(kind=kind, name=short_name(why))
    only = tuple(part.strip() for part in wanted.kinds.split(",") if part.strip())
    compared, no_comparison = await _if_answerable(asked.object(kind, name))
    around, no_neighbours = await _if_answerable(asked.neighbourhood(kind, name, wanted.depth, only))

    def at(offset: int) -> str:
        return link("/pages/object", kind=wanted.kind, name=wanted.name, part=wanted.part, offset=offset) + "#why"

    return {
        "why": {**why, "waiting_for": _waits(why), "problems": _other_problems(why)},
        "values": {part["part"]: value_at(compared, part["part"]) for part in why.get("parts", ())},
        "wanted": wanted,
        "listed": LISTED,
        "differences_shown": DIFFERENCES,
        "pager": pager(wanted.offset, len(why.get("parts", ())), why.get("parts_total", 0), PARTS, at),
        "compared": compared,
        "no_comparison": no_comparison,
        "around": _by_relation(around) if around is not None else None,
        "no_neighbours": no_neighbours,
        "depths": DEPTHS,
        "drawn_from": link("/neighbourhood", kind=kind, name=name, depth=wanted.depth, kinds=wanted.kinds),
    }


def pager(offset: int, shown: int, total: int, limit: int, at: Any) -> dict[str, Any]:
    """Return the position in a paged list and the links to its neighbours; ``at``: offset → address."""
    return {
        "first": offset + 1 if shown else 0,
        "last": offset + shown,
        "total": total,
        "previous": at(max(0, offset - limit)) if offset else None,
        "next": at(offset + limit) if offset + shown < total and shown else None,
    }


def _waits(why: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return ``waiting_for`` without links to the page's own object."""
    own = (why["kind"], why["name"])
    return [
        {**one, "resource": None}
        if one["resource"] and (one["resource"]["kind"], one["resource"]["name"]) == own
        else one
        for one in why.get("waiting_for", ())
    ]


def _other_problems(why: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the problems that ``waiting_for`` does not repeat."""
    awaited = [one["what"] for one in why.get("waiting_for", ())]
    return [one for one in why.get("problems", ()) if not any(one["message"] in what for what in awaited)]


async def _if_answerable(answer: Awaitable[dict[str, Any]]) -> tuple[dict[str, Any] | None, str]:
    try:
        return await answer, ""
    except Unanswerable as error:
        return None, error.error


def _by_relation(around: Mapping[str, Any]) -> dict[str, Any]:
    """Return the neighbourhood as a list of edges with their two ends, those at the center first."""
    nodes = {node["id"]: node for node in around["nodes"]}
    center = around["center"]
    edges = [
        {**edge, "holder": nodes[edge["from"]], "target": nodes[edge["to"]]}
        for edge in around["edges"]
        if edge["from"] in nodes and edge["to"] in nodes
    ]
    edges.sort(key=lambda edge: center not in (edge["from"], edge["to"]))
    return {
        "center": center,
        "edges": edges[:LISTED],
        "edges_total": len(edges),
        "nodes_total": len(nodes),
        "kinds": sorted({node["kind"] for node in nodes.values()}),
        "cut": around["cut"],
    }
