"""The edges that are known to be redundant, as ``redundant.yml`` lists them, and why.

What a reason claims is proved by the tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from intentc.loading import load_yaml
from tests.mutation.edges import Edge

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


def _edge(text: str) -> Edge:
    place, to = text.split(" -> ")
    kind, cause = place.split(".")
    return Edge(kind, cause, to)
