"""What a change affects, as values: the answer of ``logic.Service`` to changes of the store, facts, allocations,
settings.

Values only.
"""

from __future__ import annotations

from typing import NamedTuple

from intentc.logic.dependencies import Path
from intentc.model import Key, Name, Problem


class Job(NamedTuple):
    """An intent to look at.

    ``by_readers``: something that it read has changed, or it trusts the reaction map, so it must run; otherwise the
    walk reached it, and its memo may answer. ``path``: the reaction path from the changed object, () if the walk did
    not reach it. ``missing``: (kind of this intent, kind whose change it read) if the map should have led here."""

    by_readers: bool
    path: Path = ()
    missing: tuple[str, str] | None = None


class Affected(NamedTuple):
    """``jobs``: intents to look at, in order. ``objects``: stored objects of any kind that changed in any way, for
    planning. ``deleted``: deleted intents. ``problems``: new reasons to hold. ``cycles``: intents to hold although
    their runs ended well, since their facts form a cycle (docs/engine.md §4.1)."""

    jobs: dict[Key, Job]
    objects: frozenset[Name]
    deleted: frozenset[Key]
    problems: tuple[Problem, ...]
    cycles: tuple[tuple[Key, Problem], ...] = ()


def nobody() -> Affected:
    """The result for a change that affects nothing."""
    return Affected({}, frozenset(), frozenset(), ())
