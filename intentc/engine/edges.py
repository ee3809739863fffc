"""How often each edge of the reaction map was walked to an intent, and what came of it.

Only the last edge of a path is counted: the one that led to the intent that ran, or that its memo answered for. An
edge that never changed anything is what `check --reads` calls idle. Which edges there are is the map's business.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..logic.dependencies import Path
from ..logic.dependencies.reactions import SELF, ReactionMap

Edge = tuple[str, str, str]
"""(kind, cause, kind to go on to)."""


class Count:
    """``walks``: paths over this edge to an intent that had a job for it. ``idle``: the intent's memo answered.
    ``ran``: it was evaluated. ``changed``: of those, its claims changed, or facts of its that somebody reads."""

    __slots__ = ("changed", "idle", "ran", "walks")

    def __init__(self) -> None:
        self.walks = 0
        self.idle = 0
        self.ran = 0
        self.changed = 0


class Figures(NamedTuple):
    """A ``Count`` as a value."""

    walks: int = 0
    idle: int = 0
    ran: int = 0
    changed: int = 0


class Edges:
    """The counters since ``since`` (seconds since 1970). ``loaded_at``: when the map in force was taken into use;
    ``reloads``: how often another one was, since the start; ``last_error``: why the last one wasn't, None if it was;
    ``failures``: how often one wasn't; ``reloading_now``: one is asked for or under way. These are for whoever reloads
    to set."""

    def __init__(self) -> None:
        self.since = time.time()
        self.loaded_at = self.since
        self.reloads = 0
        self.last_error: str | None = None
        self.failures = 0
        self.reloading_now = False
        self._counts: dict[Edge, Count] = {}

    def reloading(self) -> dict[str, Any]:
        """For ``/status``: ``loaded_at`` (seconds since 1970), ``reloads``, ``failures``, ``last_error``, ``under_way``
        (whether one is)."""
        return {
            "loaded_at": self.loaded_at,
            "reloads": self.reloads,
            "failures": self.failures,
            "last_error": self.last_error,
            "under_way": self.reloading_now,
        }

    def walked(self, path: Path) -> Count | None:
        """The counter of the last edge of ``path``, with this walk counted; None if the path has no edge."""
        if len(path) < 2:
            return None
        edge = (path[-2].kind, path[-3].kind if len(path) > 2 else SELF, path[-1].kind)
        count = self._counts.get(edge)
        if count is None:
            count = self._counts[edge] = Count()
        count.walks += 1
        return count

    def of(self, edge: Edge) -> Figures:
        """What was counted on one edge; zeros if it was never walked to its end."""
        count = self._counts.get(edge)
        return Figures(count.walks, count.idle, count.ran, count.changed) if count is not None else Figures()

    def totals(self) -> dict[str, int]:
        """What became of all walks over the present map: ``idle``, ``unchanged`` (evaluated in vain), ``changed``."""
        counts = self._counts.values()
        idle, ran, changed = (sum(getattr(c, name) for c in counts) for name in ("idle", "ran", "changed"))
        return {"idle": idle, "unchanged": ran - changed, "changed": changed}

    def keep(self, edges: Iterable[Edge]) -> None:
        """Forget the counts of all other edges: the map has changed."""
        wanted = set(edges)
        self._counts = {edge: count for edge, count in self._counts.items() if edge in wanted}


def edges_of(reactions: ReactionMap) -> Iterable[Edge]:
    """Every edge of a map once."""
    return dict.fromkeys(
        (reaction.kind, reaction.cause, visit.kind) for reaction in reactions for visit in reaction.visits
    )
