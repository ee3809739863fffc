"""What a change concerns, as values: the answer of ``logic.Service`` to everything that happens."""

from __future__ import annotations

from typing import NamedTuple

from intentc.logic.dependencies import Path
from intentc.model import Key, Name, Problem


class Job(NamedTuple):
    """An intent to look at. ``by_readers``: something that it read has changed, or it trusts the reaction map, so it
    must run; else it was reached by the walk, and its memo may answer. ``path``: the reaction path from the changed
    object, () if the walk did not come here. ``missing``: (kind of this intent, kind whose change it read) if the map
    should have led here. ``over_facts``: the last step of the path is one from an intent to a reader of its facts,
    which no map tells of."""

    by_readers: bool
    path: Path = ()
    missing: tuple[str, str] | None = None
    over_facts: bool = False


class Concerned(NamedTuple):
    """``jobs``: intents to look at, in the order in which to do so. ``objects``: stored objects of any kind that
    changed in any way, for planning. ``gone``: intents that no longer exist. ``problems``: new reasons to hold.
    ``cycles``: intents to hold although their runs ended well, since their facts go round (docs/engine.md §4.1)."""

    jobs: dict[Key, Job]
    objects: frozenset[Name]
    gone: frozenset[Key]
    problems: tuple[Problem, ...]
    cycles: tuple[tuple[Key, Problem], ...] = ()


def nobody() -> Concerned:
    """What a change concerns that concerns nobody."""
    return Concerned({}, frozenset(), frozenset(), ())
