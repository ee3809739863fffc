"""The edges of a reaction map, and the maps without one of them.

An edge is what a map says in its smallest part: an intent of this kind, reached by this cause, goes on to that kind.
What an edge is good for is found out by ``killing.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from intentc.logic.dependencies import ReactionMap
from intentc.logic.dependencies.reactions import SELF

State = tuple[str, str]
"""(kind, cause)"""


class Edge(NamedTuple):
    """``kind``, reached by ``cause``, goes on to ``to``."""

    kind: str
    cause: str
    to: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.cause} -> {self.to}"


class Pair(NamedTuple):
    """An intent of kind ``reader`` is to look again when a resource of kind ``read`` changes."""

    reader: str
    read: str


def edges(reactions: ReactionMap) -> list[Edge]:
    """Every edge, in the order of the map."""
    return [Edge(reaction.kind, reaction.cause, visit.kind) for reaction in reactions for visit in reaction.visits]


def without(reactions: ReactionMap, edge: Edge) -> ReactionMap:
    """The map that lacks this edge and nothing else."""
    return only(reactions, set(edges(reactions)) - {edge})


def only(reactions: ReactionMap, kept: Collection[Edge]) -> ReactionMap:
    """The map that has these edges and no others."""
    return ReactionMap(
        reaction._replace(
            visits=tuple(v for v in reaction.visits if Edge(reaction.kind, reaction.cause, v.kind) in kept)
        )
        for reaction in reactions
    )


def on_path(kinds: Sequence[str]) -> Iterator[Edge]:
    """The edges of a walk's path, by the kinds of its intents."""
    for cause, kind, to in zip((SELF, *kinds), kinds, kinds[1:], strict=False):
        yield Edge(kind, cause, to)


def followed(reactions: ReactionMap) -> frozenset[Pair]:
    """Which kinds walks may lead to, from which changes."""
    origins = {reaction.kind for reaction in reactions}
    return frozenset(
        Pair(kind, origin) for origin in origins for kind, cause in _reached(reactions, (origin, SELF)) if cause != SELF
    )


def served(reactions: ReactionMap, edge: Edge) -> frozenset[Pair]:
    """Which kinds walks along this edge may lead to, from which changes; empty if no walk reaches it."""
    origins = {
        kind for kind in {reaction.kind for reaction in reactions} if edge[:2] in _reached(reactions, (kind, SELF))
    }
    readers = {kind for kind, _ in _reached(reactions, (edge.to, edge.kind))}
    return frozenset(Pair(reader, origin) for reader in readers for origin in origins)


def _reached(reactions: ReactionMap, start: State) -> set[State]:
    """The states to which a walk may come from ``start``, itself included."""
    found: set[State] = set()
    waiting = [start]
    while waiting:
        state = waiting.pop()
        if state not in found:
            found.add(state)
            waiting.extend(_next(reactions, state))
    return found


def _next(reactions: ReactionMap, state: State) -> Iterator[State]:
    for kind in (*reactions.next(*state), *reactions.next_all(*state)):
        yield kind, state[0]
