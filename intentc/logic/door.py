"""The door: what the watch delivers, decoded once to validate, as states for the cache.

A value that can't be read becomes ``Held`` with the reason and holds up nothing else. A snapshot is compared with the
cache, so that what was deleted unseen goes, and what did not change costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from intentc.cache import Cache, Held, State
from intentc.model import Batch, Change, InvalidInput, Key, Kind, Problem, Resource, Snapshot
from intentc.model.manifest import manifest_identity


class Arrivals(NamedTuple):
    """``states``: key → its new state, None if it is deleted. ``passed_over``: kind → number of changes of kinds that
    the schema doesn't store."""

    states: dict[Key, State | None]
    passed_over: dict[str, int]


def arrivals(cache: Cache, item: Snapshot | Batch) -> Arrivals:
    """What ``item`` says that ``cache`` doesn't know yet."""
    states: dict[Key, State | None] = {}
    passed_over: dict[str, int] = {}
    kinds = cache.stored
    snapshot = isinstance(item, Snapshot)
    seen: set[Key] = set()
    for change in item.changes:
        kind = kinds.get(change.kind)
        if kind is None:
            passed_over[change.kind] = passed_over.get(change.kind, 0) + 1
            continue
        key = Key(kind.name, change.uuid)
        if snapshot:
            seen.add(key)
            if _known(cache.state(key), change):
                continue
        states[key] = None if change.value is None else decoded(kind, change)
    if snapshot:
        states.update(dict.fromkeys(_unseen(cache, seen)))
    return Arrivals(states, passed_over)


def decoded(kind: Kind, change: Change) -> State:
    """The resource in a change, or ``Held`` if it can't be read."""
    try:
        return kind.decode(change)
    except InvalidInput as error:
        fq_name = _name_of_unreadable(kind, change.value or b"")
        key = Key(kind.name, change.uuid)
        problem = Problem(kind.name, ":".join(fq_name) or change.uuid, error.reason, error.message, error.source)
        return Held(key, fq_name, change.create_revision, change.mod_revision, problem)


def _unseen(cache: Cache, seen: set[Key]) -> Iterator[Key]:
    return (key for key in cache if key not in seen)


def _known(state: State | None, change: Change) -> bool:
    if state is None or state.mod_revision != change.mod_revision or state.create_revision != change.create_revision:
        return False
    # After a restore of an older store the same revision may hold another value.
    return not isinstance(state, Resource) or state.raw == change.value


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Identity(msgspec.Struct):
    fq_name: tuple[str, ...] = ()
    metadata: _Metadata | None = None


def _name_of_unreadable(kind: Kind, raw: bytes) -> tuple[str, ...]:
    """The name in a value whose other fields can't be read, so that those who name it don't take it for absent."""
    try:
        identity = msgspec.json.decode(raw, type=_Identity)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ()
    if kind.shape != "kubernetes":
        return identity.fq_name
    metadata = identity.metadata
    if metadata is None or not metadata.name:
        return ()
    return manifest_identity({"metadata": {"name": metadata.name, "namespace": metadata.namespace}})
