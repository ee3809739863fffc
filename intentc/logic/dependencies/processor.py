"""Walks the reaction map: finds the intents that a change is meant to affect (docs/engine.md §3.2).

From an intent of kind A that was reached by cause C it visits the related intents of the kinds listed under ``A: C:``,
each with cause A. Each (intent, cause) is visited once, so the walk ends, its cost is what it reaches, and a first
arrival never hides where a second one would lead. Reads decide what runs in the end, not the walk.

It asks the graph for neighbours, and returns paths; ``logic/service.py`` makes jobs of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Protocol

from intentc.logic.dependencies.reactions import SELF, ReactionMap
from intentc.model import Key

Path = tuple[Key, ...]
"""The keys from the origin to the intent reached, both included."""


class Neighbours(Protocol):
    """The graph as the walk needs it; absent objects have no neighbours."""

    def related(self, key: Key, kind: str) -> Iterable[Key]:
        """The objects of ``kind`` that have a relation to ``key``, in either direction."""
        ...

    def all(self, kind: str) -> Iterable[Key]:
        """All objects of ``kind``."""
        ...


class DependencyProcessor:
    """Walks one reaction map over one graph."""

    def __init__(self, reactions: ReactionMap, neighbours: Neighbours) -> None:
        self._reactions = reactions
        self._neighbours = neighbours

    def walk(self, origins: Iterable[Key]) -> dict[Key, Path]:
        """All intents that changes of ``origins`` reach, the origins first, each with one of its shortest paths."""
        paths: dict[Key, Path] = {origin: (origin,) for origin in origins}
        starts = self._reactions.starts
        waiting = deque((path, SELF) for key, path in paths.items() if key.kind in starts)
        visited: set[tuple[Key, str]] = set()
        while waiting:
            path, cause = waiting.popleft()
            key = path[-1]
            for neighbour in self._next(key, cause):
                state = (neighbour, key.kind)
                if state in visited:
                    continue
                visited.add(state)
                further = (*path, neighbour)
                paths.setdefault(neighbour, further)
                waiting.append((further, key.kind))
        return paths

    def _next(self, key: Key, cause: str) -> list[Key]:
        kinds = self._reactions.next(key.kind, cause)
        everyone = self._reactions.next_all(key.kind, cause)
        if not kinds and not everyone:
            return []
        found = [neighbour for kind in kinds for neighbour in sorted(self._neighbours.related(key, kind))]
        found.extend(neighbour for kind in everyone for neighbour in sorted(self._neighbours.all(kind)))
        return found
