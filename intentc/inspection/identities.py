"""Identifies a resource in answers by kind, fq_name joined by ``:``, and uuid if it has one.

Every answer uses these three keys, so programs can ask about any resource that they meet. ``finding`` defines
what a person may type as a name.
"""

from __future__ import annotations

from typing import Any

from intentc.logic import LiveWorld
from intentc.model import Key, Name, Source

Document = dict[str, Any]


def of_key(world: LiveWorld, key: Key) -> Document:
    """Return ``{"kind", "name", "uuid"}`` of an object or fact; a deleted one has its uuid as its name."""
    return {"kind": key.kind, "name": world.name_of(key), "uuid": key.uuid}


def name_now(world: LiveWorld, key: Key) -> Name:
    """Return the name of an object or fact; if its name is unknown, its uuid."""
    state = world.cache.state(key)
    return Name(key.kind, state.fq_name if state is not None and state.fq_name else (key.uuid,))


def of_name(world: LiveWorld, name: Name) -> Document:
    """Return the same for the object of this name; ``uuid`` is empty if there is none."""
    joined = ":".join(name.fq_name)
    return {"kind": name.kind, "name": joined, "uuid": _uuid(world, name.kind, joined)}


def of_source(world: LiveWorld, source: Source) -> Document:
    """Return the same with ``revision`` (of its last write, None if it doesn't exist) and ``field``."""
    uuid = _uuid(world, source.kind, source.name)
    return {
        "kind": source.kind,
        "name": source.name,
        "uuid": uuid,
        "revision": world.mod_revision(Key(source.kind, uuid)) or None,
        "field": source.field,
    }


def with_revision(world: LiveWorld, key: Key) -> Document:
    """Return ``{"kind", "name", "uuid", "revision"}`` of a stored resource."""
    return {**of_key(world, key), "revision": world.mod_revision(key) or None}


def _uuid(world: LiveWorld, kind: str, name: str) -> str:
    """Return the uuid of the object of this name, or the fact's name; empty if there is none."""
    found = world.cache.names.in_force(kind, name)
    if found is None and world.exists(Key(kind, name)):
        return name
    return found or ""
