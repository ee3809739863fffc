"""Counts how often each edge of the reaction map led to an intent, and with what effect, in a running engine.

Only the last edge of a path is counted: the one that led to the intent that ran, or whose memo answered. An edge that
never changed anything is reported as an idle reaction. The map itself defines which edges exist
(``logic/dependencies/edges.py``); ``logic/coverage.py`` compares a map with recorded reads.

State: the counts since the start, in memory; ``evaluator`` adds to them, and what runs does not depend on them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

from ..logic.dependencies import Path
from ..logic.dependencies.reactions import SELF, ReactionMap

Edge = tuple[str, str, str]
"""(kind, cause, kind to visit next)."""


class Count:
    """``walks``: paths over this edge to an intent with a job. ``idle``: the intent's memo answered. ``ran``: it was
    evaluated. ``changed``: evaluations that changed its claims, or facts that somebody reads."""

    __slots__ = ("changed", "idle", "ran", "walks")

    def __init__(self) -> None:
        self.walks = 0
        self.idle = 0
        self.ran = 0
        self.changed = 0


class Figures(NamedTuple):
    """An immutable copy of a ``Count``."""

    walks: int = 0
    idle: int = 0
    ran: int = 0
    changed: int = 0


class Edges:
    """The counters since ``since`` (seconds since 1970)."""

    def __init__(self) -> None:
        self.since = time.time()
        self._counts: dict[Edge, Count] = {}

    def walked(self, path: Path) -> Count | None:
        """Count a walk on the last edge of ``path``, and return that edge's counter; None if the path has no edge."""
        if len(path) < 2:
            return None
        edge = (path[-2].kind, path[-3].kind if len(path) > 2 else SELF, path[-1].kind)
        count = self._counts.get(edge)
        if count is None:
            count = self._counts[edge] = Count()
        count.walks += 1
        return count

    def of(self, edge: Edge) -> Figures:
        """The counts of one edge; zeros if no walk ended with it."""
        count = self._counts.get(edge)
        return Figures(count.walks, count.idle, count.ran, count.changed) if count is not None else Figures()

    def totals(self) -> dict[str, int]:
        """The results of all walks over the present map: ``idle``, ``unchanged`` (evaluated without effect),
        ``changed``."""
        counts = self._counts.values()
        idle, ran, changed = (sum(getattr(c, name) for c in counts) for name in ("idle", "ran", "changed"))
        return {"idle": idle, "unchanged": ran - changed, "changed": changed}

    def keep(self, edges: Iterable[Edge]) -> None:
        """Forget the counts of all other edges after the map has changed."""
        wanted = set(edges)
        self._counts = {edge: count for edge, count in self._counts.items() if edge in wanted}


def edges_of(reactions: ReactionMap) -> Iterable[Edge]:
    """Every edge of a map once."""
    return dict.fromkeys(
        (reaction.kind, reaction.cause, visit.kind) for reaction in reactions for visit in reaction.visits
    )
