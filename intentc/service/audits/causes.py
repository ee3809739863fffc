"""Finds the reactions that were missing when an audit finds a stale object.

A pair of kinds is missing if an intent behind the object reads a resource that was written after the intent's last
evaluation, and no path of the map leads from the resource to the intent. Recorded reads normally run the intent and
name the pair at once (``Progress.missing_reactions``); here they did not. A write that changes no input counts as
well, so a pair too many may be named, but never one that the map covers.

It only reads the engine and the journal. State: what was read before intents are evaluated anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from intentc.journal import Entry, Journal
from intentc.logic import LiveWorld
from intentc.model import Key, Read
from intentc.model.reads import index_read, object_read, sources_read, targets_read, usable_read

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
