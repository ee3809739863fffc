"""Which differences of an audit the running engine has no excuse for.

While an audit compiles, the world goes on: most of what differs is under way, was written since, or waits for somebody.
A *mismatch* is what is left: nothing is queued, and still the engine doesn't mean to write what a compile from scratch
would. It looks, and changes nothing. What to do about a mismatch is ``periodic``'s.
"""

from __future__ import annotations

import enum

import msgspec

from intentc.engine.engine import Engine
from intentc.journal import Entry
from intentc.model import HeldInput, Key, Name
from intentc.offline.audit import Change, Difference, upstream
from intentc.offline.audit.report import ALLOCATE, WAIT
from intentc.planning.actual import Actual


class Sort(enum.Enum):
    """STALE: an evaluation is older than what it would read now. UNPLANNED: the engine would write, but nothing ever
    had it planned. MISSED: the cache has another version of the object than the store had."""

    STALE = "stale"
    UNPLANNED = "unplanned"
    MISSED = "missed event"


class Mismatch(msgspec.Struct, frozen=True):
    """One object about which the engine is wrong. ``operations``: what the audit would write; ``origins``: the intents
    that the audit and the engine name for it, ``missing_reactions``: ``reader <- read`` each, as far as known."""

    kind: str
    name: str
    sort: Sort
    operations: tuple[Change, ...]
    origins: tuple[str, ...]
    missing_reactions: tuple[str, ...] = ()
    repaired: bool = False


class Look:
    """One look at what an audit of ``revision`` found. Every change up to that revision must have been applied and
    evaluated. It is good until the next await."""

    def __init__(self, engine: Engine, revision: int) -> None:
        self._engine = engine
        self._revision = revision
        lines = tuple(engine.parts.journal)
        self.forgotten = bool(lines) and lines[0].revision > revision
        """The journal doesn't reach back so far: nothing can be judged."""
        self._fresh = {line.origin for line in lines if isinstance(line, Entry) and line.revision > revision}

    def stands(self, difference: Difference) -> Sort | None:
        """Whether a difference is a mismatch; None if it is excused."""
        parts, name, revision = self._engine.parts, difference.place, self._revision
        if any(change.operation in {ALLOCATE, WAIT} for change in difference.operations):
            # A number that is asked for until it is granted, or an object that another difference holds up.
            return None
        # What is refused, delayed or contended is in a back-off, and so busy.
        if parts.objects.busy(name) or name in parts.states.planned or name in parts.states.left_alone:
            return None
        if parts.planner.guard.holds(name) or any(map(self._excuses, concerned(self._engine, difference))):
            return None
        if not all(map(parts.logic.exists, difference.intents)):
            return None
        try:
            actual = parts.assumed.actual(name)
        except HeldInput:
            return None
        seen = _revision(actual)
        if seen is None or seen > revision or (actual is None and difference.revision):
            return None
        if seen != difference.revision:
            return Sort.MISSED
        return Sort.UNPLANNED if parts.planner.plan(name).operations else Sort.STALE

    def _excuses(self, key: Key) -> bool:
        """Whether nobody knows what this intent wants now, or it was evaluated since: then it may have wanted something
        else for a moment, and the same as before now."""
        parts = self._engine.parts
        return parts.states.is_held(key) or key in parts.logic.held or key in self._fresh


def concerned(engine: Engine, difference: Difference) -> frozenset[Key]:
    """Every intent that has a say in an object: those that the audit names, those that claim it here, and all whose
    facts they read."""
    claiming = frozenset(engine.parts.book.on(difference.place))
    return difference.intents | claiming | upstream(engine.parts.logic, claiming | difference.intents)


def repaired(engine: Engine, name: Name, before: int) -> bool:
    """Whether an object that stood at revision ``before`` (0: absent) was written since, or is about to be."""
    parts = engine.parts
    if parts.objects.busy(name) or name in parts.states.planned:
        return True
    try:
        return _revision(parts.assumed.actual(name)) != before
    except HeldInput:
        return False


def _revision(actual: Actual | None) -> int | None:
    """The revision of an object, 0 if it is absent, None if a write of ours has not told it yet."""
    return 0 if actual is None else actual.revision
