"""Decodes and validates what the watch delivers, once, as states for the cache.

A value that can't be read or exceeds a limit becomes ``Held`` with the reason and delays nothing else. A snapshot is
compared with the cache, so that missed deletions are found and unchanged values cost nothing. Decoding a whole world
takes long; ``decoded_slices`` can do it beforehand, since it depends only on the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from intentc.logic.cache import Cache, Held, State
from intentc.model import (
    Batch,
    Change,
    Correction,
    InvalidInput,
    Key,
    Kind,
    Problem,
    Resource,
    Snapshot,
    is_escaped,
    is_uuid,
)
from intentc.model.limits import LARGEST_VALUE, deeper_than
from intentc.model.manifest import manifest_identity

DEEPEST_VALUE = 64
"""The most levels of objects and arrays."""
MOST_LINKS = 10_000
"""The most other resources that one names: parent, references, and names in its fields."""

_SLICE = 50
"""Resources decoded in one slice: about 2 ms (docs/engine.md §1.7)."""
_SLICE_BYTES = 100_000
"""Bytes decoded in one slice: some values are a thousand times as large as the usual one."""
_KNOWN_SLICE = 2_000
"""Changes compared in one slice, if the cache has them already."""


class Arrivals(NamedTuple):
    """``states``: key → its new state, None if it is deleted. ``passed_over``: kind → the number of changes of kinds
    that the schema doesn't store."""

    states: dict[Key, State | None]
    passed_over: dict[str, int]


def arrivals(cache: Cache, item: Snapshot | Batch | Correction, prepared: Mapping[Key, State]) -> Arrivals:
    """What in ``item`` is new for ``cache``. ``prepared``: states that were decoded from it beforehand."""
    states: dict[Key, State | None] = {}
    passed_over: dict[str, int] = {}
    kinds = cache.stored
    snapshot, correction = isinstance(item, Snapshot), isinstance(item, Correction)
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
        elif correction and _written_since(cache.state(key), item.revision):
            continue
        states[key] = None if change.value is None else prepared.get(key) or decoded(kind, change)
    if snapshot:
        states.update(dict.fromkeys(_unseen(cache, seen)))
    return Arrivals(states, passed_over)


def decoded_slices(cache: Cache, snapshot: Snapshot) -> Iterator[dict[Key, State]]:
    """The states in ``snapshot`` that are new for ``cache``, a few milliseconds' work at a time. The cache may change
    meanwhile."""
    states: dict[Key, State] = {}
    looked_at = size = 0
    for change in snapshot.changes:
        kind = cache.stored.get(change.kind)
        if kind is not None and change.value is not None:
            key = Key(kind.name, change.uuid)
            if not _known(cache.state(key), change):
                states[key] = decoded(kind, change)
                size += len(change.value)
        looked_at += 1
        if len(states) >= _SLICE or size >= _SLICE_BYTES or looked_at >= _KNOWN_SLICE:
            yield states
            states, looked_at, size = {}, 0, 0
    if states:
        yield states


def decoded(kind: Kind, change: Change) -> State:
    """The resource in a change, or ``Held`` if it can't be read or exceeds a limit."""
    raw = change.value or b""
    try:
        if is_escaped(change.uuid):
            raise InvalidInput("its key in etcd does not end in a uuid", reason="Malformed")
        _check_text(raw)
        resource = kind.decode(change)
        if len(resource.links) > MOST_LINKS:
            raise InvalidInput(
                f"names {len(resource.links):,} others; {MOST_LINKS:,} are the most; split it",
                reason="TooManyReferences",
            )
        return resource
    except InvalidInput as error:
        fq_name = _name_of_unreadable(kind, raw)
        key = Key(kind.name, change.uuid)
        source = f"{key}@{change.mod_revision}"
        problem = Problem(kind.name, ":".join(fq_name) or change.uuid, error.reason, _advised(error, key), source)
        return Held(key, fq_name, change.create_revision, change.mod_revision, problem)


def _advised(error: InvalidInput, key: Key) -> str:
    """What is wrong, and the commands that fix it. Only a key that ends in a uuid can get another value."""
    if error.reason != "Malformed":
        return error.message
    replace = "" if not is_uuid(key.uuid) else "replace it with `intentc apply FILE`, or "
    return f"{error.message}; {replace}delete it with `intentc delete --kind {key.kind} {key.uuid}`"


def _check_text(raw: bytes) -> None:
    if len(raw) > LARGEST_VALUE:
        raise InvalidInput(f"value has {len(raw):,} bytes; {LARGEST_VALUE:,} are the most; split it", reason="TooLarge")
    if deeper_than(raw, DEEPEST_VALUE):
        raise InvalidInput(f"value is nested deeper than {DEEPEST_VALUE} levels", reason="TooDeep")


def _unseen(cache: Cache, seen: set[Key]) -> Iterator[Key]:
    return (key for key in cache if key not in seen)


def _written_since(state: State | None, revision: int) -> bool:
    return state is not None and state.mod_revision > revision


def _known(state: State | None, change: Change) -> bool:
    if state is None or state.mod_revision != change.mod_revision or state.create_revision != change.create_revision:
        return False
    # After an older store was restored, the same revision may hold another value.
    return not isinstance(state, Resource) or state.raw == change.value


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class _Identity(msgspec.Struct):
    fq_name: tuple[str, ...] = ()
    metadata: _Metadata | None = None


def _name_of_unreadable(kind: Kind, raw: bytes) -> tuple[str, ...]:
    """The name in a value whose other fields can't be read, so that it does not seem absent to readers of the name."""
    try:
        identity = msgspec.json.decode(raw, type=_Identity)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ()
    metadata = identity.metadata
    if identity.fq_name or not kind.written_as_manifests or metadata is None or not metadata.name:
        return identity.fq_name
    found = {"metadata": {"name": metadata.name, "namespace": metadata.namespace}}
    return manifest_identity(found, cluster_scoped=kind.manifests.cluster_scoped)
