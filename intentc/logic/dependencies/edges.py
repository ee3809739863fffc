"""The edges of a reaction map, its smallest parts, so that walks can be counted and maps compared.

Its callers count along them and interpret the counts; ``engine/edges.py`` counts in a running service.

Pure: values and walks over them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

from .processor import Path
from .reactions import SELF, ReactionMap


class Edge(NamedTuple):
    """Leads from an intent of ``kind`` that was reached by ``cause`` to intents of the kind ``to``."""

    kind: str
    cause: str
    to: str

    def __str__(self) -> str:
        return f"{self.kind} (from {self.cause}) → {self.to}"


class Declared(NamedTuple):
    """How a map declares an edge. ``everyone``: to all of the kind, related or not; ``source``: file:line of its first
    place."""

    everyone: bool
    source: str


def edges(reactions: ReactionMap) -> dict[Edge, Declared]:
    """Every edge of a map, in order."""
    found: dict[Edge, Declared] = {}
    for reaction in reactions:
        for visit in reaction.visits:
            edge = Edge(reaction.kind, reaction.cause, visit.kind)
            former = found.get(edge, Declared(visit.everyone, visit.source))
            found[edge] = former._replace(everyone=former.everyone or visit.everyone)
    return found


def along(path: Path) -> Iterator[Edge]:
    """The edges that a walk took, from its origin on; none for a path of one key."""
    cause = SELF
    for here, there in itertools.pairwise(path):
        yield Edge(here.kind, cause, there.kind)
        cause = here.kind
