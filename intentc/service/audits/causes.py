"""Which reactions were missing: what those read who have a say in a stale object, what of it was written since their
last evaluation, and that no path leads from there to them.

Recorded reads normally run whoever is concerned, and name the pair at once (``Evaluator.missing_reactions``). When an
audit finds a stale object, they did not. Something that was written without a change of an input counts here, too: a
pair too many may be named, but never one that the map covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from intentc.engine.engine import Engine
from intentc.journal import Entry
from intentc.logic import Service
from intentc.model import Key, Read
from intentc.model.reads import index_read, object_read, sources_read, targets_read

Pair = tuple[str, str]
"""Kind of the reader, kind of what it read."""

_NOWHERE = Key("", "")
_OBJECT = object_read(_NOWHERE)[0]
_TARGETS = targets_read(_NOWHERE, "")[0]
_SOURCES = sources_read(_NOWHERE, "", "")[0]
_INDEX = index_read("", "", "")[0]


class _Stood(NamedTuple):
    """One intent before it was evaluated anew. ``since``: what was applied at its last evaluation."""

    reads: frozenset[Read]
    since: int


class Before:
    """How those stood who have a say in a stale object, before they are evaluated anew.

    The journal is a ring: where it no longer tells of an evaluation, what was written after the object, which stood at
    ``revision``, counts as changed since.
    """

    def __init__(self, engine: Engine, intents: Iterable[Key], revision: int) -> None:
        self._logic = engine.parts.logic
        since = dict.fromkeys(intents, revision)
        for line in engine.parts.journal:
            if isinstance(line, Entry) and line.origin in since:
                since[line.origin] = line.revision
        self._stood = {key: _Stood(self._logic.reads.reads_of(key), at) for key, at in since.items()}

    def missing_reactions(self) -> set[Pair]:
        """The pairs that explain why the object was stale, now that everybody concerned has been evaluated anew."""
        logic = self._logic
        return {
            (reader.kind, changed.kind)
            for reader, stood in self._stood.items()
            for changed in _changed(logic, reader, stood)
            # What is gone has no relations any more to walk along; but whoever was reached when it went is not stale.
            if changed != reader and not (logic.exists(changed) and reader in logic.walk([changed]))
        }


def _changed(logic: Service, reader: Key, stood: _Stood) -> set[Key]:
    """What ``reader`` reads, or read, and what was written or deleted since its former evaluation."""
    now = logic.reads.reads_of(reader)
    there = {key for read in now | stood.reads for key in _objects(logic, read)}
    gone = {Key(read[1], read[2]) for read in stood.reads - now if read[0] == _OBJECT}
    return {key for key in there if logic.mod_revision(key) > stood.since} | {
        key for key in gone if not logic.exists(key)
    }


def _objects(logic: Service, read: Read) -> Iterator[Key]:
    """The objects in the store that make up the answer of a read."""
    match read:
        case (sort, kind, uuid) if sort == _OBJECT:
            yield Key(kind, uuid)
        case (sort, kind, uuid, relation) if sort == _TARGETS:
            yield from (target.key for target in logic.targets(Key(kind, uuid), relation))
        case (sort, kind, uuid, source, relation) if sort == _SOURCES:
            yield from logic.sources(Key(kind, uuid), source, relation)
        case (sort, kind, index, value) if sort == _INDEX:
            yield from logic.select(kind, index, value)
