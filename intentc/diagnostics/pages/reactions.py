"""Shapes the reactions' page: the map with the use of each edge, its findings, and missing reactions.

Pure: an answer in, template values out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..parameters import choice

ORDERS = ("map", "walks", "idle")
_FINDINGS = 100
_EDGES = 400


def shown(answer: Mapping[str, Any], parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return the template's values. ``sort``: the map's order, or the most walked or most idle edges first. Raises
    ``BadQuery``."""
    order = choice(parameters, "sort", ORDERS) or "map"
    edges = [{**edge, "use": _use(edge)} for edge in answer["edges"]]
    if order != "map":
        edges.sort(key=lambda edge: -edge[order])
    never = sum(edge["use"] == "never changed an output" for edge in edges)
    return {
        "answer": answer,
        "order": order,
        "orders": ORDERS,
        "edges": edges[:_EDGES],
        "edges_total": len(edges),
        "unwalked": sum(not edge["walks"] for edge in edges),
        "unchanging": never,
        "findings": answer["findings"][:_FINDINGS],
        "missing": answer["missing"][:_FINDINGS],
    }


def _use(edge: Mapping[str, Any]) -> str:
    if not edge["walks"]:
        return "not walked"
    return "changed outputs" if edge["changed"] else "never changed an output"
