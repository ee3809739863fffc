"""Finds the stored resources behind the answer of a read, and the reads that a stored resource can answer.

Why apart: code that explains an evaluation, or finds which map lacks a reaction, follows reads back to resources. Facts
have no stored resource; ``offline/audit/upstream`` follows their contributors. ``changes.py`` finds the reads that a
change affects.

It reads the world that it gets.
"""

from __future__ import annotations

from collections.abc import Iterator

from intentc.model import Key, Read
from intentc.model.reads import (
    PARENT,
    index_read,
    metadata_read,
    name_read,
    object_read,
    sources_read,
    targets_read,
    usable_read,
)

from .world import CachedWorld

_NOWHERE = Key("", "")
_OF_OBJECTS = frozenset({object_read(_NOWHERE)[0], usable_read(_NOWHERE)[0], metadata_read(_NOWHERE)[0]})
_NAME = name_read("", ())[0]
_TARGETS = targets_read(_NOWHERE, "")[0]
_SOURCES = sources_read(_NOWHERE, "", "")[0]
_INDEX = index_read("", "", "")[0]


def answering(world: CachedWorld, read: Read) -> Iterator[Key]:
    """The stored resources behind a read. Both ends of a relation answer it; an absent object has none."""
    match read:
        case (sort, kind, uuid, *_) if sort in _OF_OBJECTS:
            yield from _there(world, Key(kind, uuid))
        case (sort, kind, name) if sort == _NAME:
            in_force = world.cache.names.in_force(kind, name)
            if in_force is not None:
                yield Key(kind, in_force)
        case (sort, kind, uuid, relation) if sort == _TARGETS:
            yield from _there(world, Key(kind, uuid))
            yield from (target.key for target in world.targets(Key(kind, uuid), relation))
        case (sort, kind, uuid, source, relation) if sort == _SOURCES:
            yield from _there(world, Key(kind, uuid))
            yield from world.sources(Key(kind, uuid), source, relation)
        case (sort, kind, index, value) if sort == _INDEX:
            yield from world.select(kind, index, value)


def _there(world: CachedWorld, key: Key) -> Iterator[Key]:
    if world.cache.state(key) is not None:
        yield key


def reads_of_resource(world: CachedWorld, key: Key) -> Iterator[Read]:
    """The inverse: the reads whose answers may contain a stored resource."""
    yield object_read(key)
    yield usable_read(key)
    resource = world.cache.shown(key)
    if resource is None:
        return
    yield name_read(key.kind, resource.fq_name)
    yield index_read(key.kind, "all", "")
    for relation in (PARENT, *resource.kind.relations, *resource.kind.mentions):
        yield targets_read(key, relation)
    for way in world.cache.graph.incoming.get(key.kind, ()):
        yield sources_read(key, way.source, way.relation)
    for index, values in world.cache.indexes.offered(key).items():
        for value in values:
            yield index_read(key.kind, index, value)
