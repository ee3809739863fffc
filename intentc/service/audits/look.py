"""Finds the differences of an audit that the running engine can't explain.

While an audit compiles, the world goes on: most differences are queued, were written since, or wait for something. The
rest are *mismatches*: a stale evaluation, a plan that was not made, or an event that was missed (``MismatchKind``).
This module also says which intents are behind an object, whether it was repaired, and which reactions were missing:
``Before`` names a pair of kinds if an intent behind the object reads a resource that was written after the intent's
last evaluation, and no path of the map leads from the resource to the intent.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from intentc.engine.live import Live
from intentc.journal import Entry, Journal
from intentc.logic import LiveWorld
from intentc.model import HeldInput, Key, Name, Read
from intentc.model.reads import index_read, object_read, sources_read, targets_read, usable_read
from intentc.offline.audit import ALLOCATE, WAIT, Change, Difference, upstream
from intentc.planning import Planner
from intentc.planning.actual import Actual


class MismatchKind(enum.Enum):
    """STALE: an evaluation is older than what it reads. UNPLANNED: a plan would write, but none was made. MISSED: the
    cache has another version of the object than the store had."""

    STALE = "stale"
    UNPLANNED = "unplanned"
    MISSED = "missed event"


class Mismatch(msgspec.Struct, frozen=True):
    """An object about which the engine is wrong. ``operations``: what the audit would write; ``origins``: the intents
    that the audit and the engine name for it; ``missing_reactions``: the known ones, ``reader <- read`` each."""

    kind: str
    name: str
    sort: MismatchKind
    operations: tuple[Change, ...]
    origins: tuple[str, ...]
    missing_reactions: tuple[str, ...] = ()
    repaired: bool = False


class Look:
    """Examines the differences that an audit of ``revision`` found. Every change up to that revision must be applied
    and evaluated. The results are valid until the next await."""

    def __init__(self, live: Live, revision: int) -> None:
        self._live = live
        self._revision = revision
        lines = tuple(live.journal)
        self.forgotten = bool(lines) and lines[0].revision > revision
        """The journal has dropped lines after ``revision``: no difference can be judged."""
        self._fresh = {line.origin for line in lines if isinstance(line, Entry) and line.revision > revision}

    def sort_of(self, difference: Difference) -> MismatchKind | None:
        """Return the sort of mismatch that a difference is; None if the engine can explain it."""
        live, name, revision = self._live, difference.place, self._revision
        world, planner, states = live.world, live.planner, live.states
        if any(change.operation in {ALLOCATE, WAIT} for change in difference.operations):
            # A requested allocation, or an object that waits for another difference.
            return None
        # A rejected, delayed or contended object is in a back-off, and so busy.
        if live.objects.busy(name) or name in states.planned or name in states.left_alone:
            return None
        if planner.guard.holds(name) or any(map(self._excuses, affected(world, planner, difference))):
            return None
        if not all(map(world.exists, difference.intents)):
            return None
        try:
            actual = planner.assumed.actual(name)
        except HeldInput:
            return None
        seen = _revision(actual)
        if seen is None or seen > revision or (actual is None and difference.revision):
            return None
        if seen != difference.revision:
            return MismatchKind.MISSED
        return MismatchKind.UNPLANNED if planner.plan(name).operations else MismatchKind.STALE

    def _excuses(self, key: Key) -> bool:
        """Return whether an intent is held, or was evaluated since the audit: its claims may have differed for a
        moment."""
        world, states = self._live.world, self._live.states
        return states.is_held(key) or key in world.held or key in self._fresh


def affected(world: LiveWorld, planner: Planner, difference: Difference) -> frozenset[Key]:
    """Return every intent behind an object. These are the intents that the audit names, those that claim it here, and
    all contributors to the facts that these read."""
    claiming = frozenset(planner.book.on(difference.place))
    return difference.intents | claiming | upstream(world, claiming | difference.intents)


def repaired(live: Live, name: Name, before: int) -> bool:
    """Return whether an object that had revision ``before`` (0: absent) was written since, or is about to be."""
    if live.objects.busy(name) or name in live.states.planned:
        return True
    try:
        return _revision(live.planner.assumed.actual(name)) != before
    except HeldInput:
        return False


def _revision(actual: Actual | None) -> int | None:
    """Return the revision of an object: 0 if it is absent, None if the answer to our write is pending."""
    return 0 if actual is None else actual.revision


Pair = tuple[str, str]
"""Kind of the reader, kind of what it read."""

_NOWHERE = Key("", "")
_OF_OBJECTS = frozenset({object_read(_NOWHERE)[0], usable_read(_NOWHERE)[0]})
_TARGETS = targets_read(_NOWHERE, "")[0]
_SOURCES = sources_read(_NOWHERE, "", "")[0]
_INDEX = index_read("", "", "")[0]


class _Stood(NamedTuple):
    """An intent before its new evaluation. ``since``: the revision applied at its last evaluation."""

    reads: frozenset[Read]
    since: int


class Before:
    """Records the intents behind a stale object before they are evaluated anew.

    The journal is a ring: for an evaluation that it has dropped, everything written after the object's ``revision``
    counts as changed since.
    """

    def __init__(self, world: LiveWorld, journal: Journal, intents: Iterable[Key], revision: int) -> None:
        self._world = world
        since = dict.fromkeys(intents, revision)
        for line in journal:
            if isinstance(line, Entry) and line.origin in since:
                since[line.origin] = line.revision
        self._stood = {key: _Stood(self._world.reads.reads_of(key), at) for key, at in since.items()}

    def missing_reactions(self) -> set[Pair]:
        """Return the pairs that explain why the object was stale. Call it after the new evaluations."""
        world = self._world
        return {
            (reader.kind, changed.kind)
            for reader, stood in self._stood.items()
            for changed in _changed(world, reader, stood)
            # A deleted resource has no relations to walk along, but intents reached at its deletion are not stale.
            if changed != reader and not (world.exists(changed) and reader in world.walk([changed]))
        }


def _changed(world: LiveWorld, reader: Key, stood: _Stood) -> set[Key]:
    """Return what ``reader`` reads or read that was written or deleted since its former evaluation."""
    now = world.reads.reads_of(reader)
    present = {key for read in now | stood.reads for key in _objects(world, read)}
    former = {Key(read[1], read[2]) for read in stood.reads - now if read[0] in _OF_OBJECTS}
    return {key for key in present if world.mod_revision(key) > stood.since} | {
        key for key in former if not world.exists(key)
    }


def _objects(world: LiveWorld, read: Read) -> Iterator[Key]:
    """Yield the stored objects in the answer of a read."""
    match read:
        case (sort, kind, uuid) if sort in _OF_OBJECTS:
            yield Key(kind, uuid)
        case (sort, kind, uuid, relation) if sort == _TARGETS:
            yield from (target.key for target in world.targets(Key(kind, uuid), relation))
        case (sort, kind, uuid, source, relation) if sort == _SOURCES:
            yield from world.sources(Key(kind, uuid), source, relation)
        case (sort, kind, index, value) if sort == _INDEX:
            yield from world.select(kind, index, value)
