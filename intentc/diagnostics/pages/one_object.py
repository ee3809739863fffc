"""Shapes the page of one object: why it exists, desired and actual, its neighbourhood, and its history.

Why it exists: the page combines three answers, and if one fails the others must still be shown.

``about`` asks the reader; the rest is pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from intentc.diagnostics.pages.listings import pager
from intentc.diagnostics.pages.rendering import link, short_name
from intentc.diagnostics.questions import (
    Comparison,
    Neighbourhood,
    Question,
    Reader,
    Unanswerable,
    Why,
    kinds_of,
    named,
    number,
    offset_of,
)
from intentc.model.comparison import text_at

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


def wanted_of(parameters: Mapping[str, str]) -> Wanted:
    """Read ``kind``, ``name``, ``part``, ``offset``, ``depth``, ``kinds``. Raises ``BadQuery``."""
    return Wanted(
        *named(parameters, "/pages/object"),
        parameters.get("part", ""),
        offset_of(parameters),
        number(parameters, "depth", 1, DEPTHS[0], DEPTHS[-1]),
        parameters.get("kinds", "").strip(),
    )


async def about(reader: Reader, wanted: Wanted) -> dict[str, Any]:
    """Return the values of the object's template. Raises ``Unanswerable`` if ``why`` has no answer; the reason replaces
    any other missing answer."""
    why = await reader.ask(Why(wanted.kind, wanted.name, wanted.part, wanted.offset, PARTS))
    kind, name = why["kind"], why["uuid"] or why["name"]
    wanted = wanted._replace(kind=kind, name=short_name(why))
    around = Neighbourhood(kind, name, wanted.depth, kinds_of(wanted.kinds))
    compared, no_comparison = await _if_answerable(reader, Comparison(kind, name))
    neighbours, no_neighbours = await _if_answerable(reader, around)

    def at(offset: int) -> str:
        return link("/pages/object", kind=wanted.kind, name=wanted.name, part=wanted.part, offset=offset) + "#why"

    return {
        "why": {**why, "waiting_for": _waits(why), "problems": _other_problems(why)},
        "values": {part["part"]: text_at(compared or {}, part["part"]) for part in why.get("parts", ())},
        "wanted": wanted,
        "listed": LISTED,
        "differences_shown": DIFFERENCES,
        "pager": pager(wanted.offset, len(why.get("parts", ())), why.get("parts_total", 0), PARTS, at),
        "compared": compared,
        "no_comparison": no_comparison,
        "around": _by_relation(neighbours) if neighbours is not None else None,
        "no_neighbours": no_neighbours,
        "depths": DEPTHS,
        "drawn_from": link("/neighbourhood", kind=kind, name=name, depth=wanted.depth, kinds=wanted.kinds),
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


async def _if_answerable(reader: Reader, question: Question) -> tuple[dict[str, Any] | None, str]:
    try:
        return await reader.ask(question), ""
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
