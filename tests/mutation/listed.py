"""The edges that are known to be redundant, as ``redundant.yml`` lists them, and why.

``python -m tests.mutation.listed`` writes the table of them into
docs/contrail.md C.3.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from intentc.loading import load_yaml
from intentc.logic.dependencies.reactions import Edge

_FILE = Path(__file__).with_name("redundant.yml")


class Redundant(NamedTuple):
    """``proof``: ``unread``, ``covered`` or ``unreached``; ``reason``: for people."""

    proof: str
    reason: str


def redundant() -> dict[Edge, Redundant]:
    """All that are listed."""
    return {
        _edge(text): Redundant(proof, group["reason"].strip())
        for proof, groups in load_yaml(_FILE).value.items()
        for group in groups
        for text in group["edges"]
    }


PAGE = Path(__file__).resolve().parents[2] / "docs/contrail.md"
_BEGIN, _END = "<!-- entries that no outcome needs -->\n", "<!-- end of these entries -->\n"


def table() -> str:
    """The list as a table for people: each reason, and its entries as ``kind, cause → kinds``."""
    rows = ["| entries | why no outcome needs them |", "|---|---|"]
    for groups in load_yaml(_FILE).value.values():
        for group in groups:
            entries: dict[str, list[str]] = {}
            for edge in map(_edge, group["edges"]):
                entries.setdefault(f"{edge.kind}, {edge.cause}", []).append(edge.to)
            shown = "; ".join(f"{place} → {', '.join(kinds)}" for place, kinds in entries.items())
            rows.append(f"| {shown} | {' '.join(group['reason'].split())} |")
    return "\n".join(rows) + "\n"


def page_with(found: str) -> str:
    """The page with the table ``found`` in the place of its own."""
    before, _, rest = PAGE.read_text().partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{found}\n{_END}{after}"


def _edge(text: str) -> Edge:
    place, to = text.split(" -> ")
    kind, cause = place.split(".")
    return Edge(kind, cause, to)


if __name__ == "__main__":
    PAGE.write_text(page_with(table()))
