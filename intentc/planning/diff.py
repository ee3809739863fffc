"""Computes the least change from what an object has to its desired state, field by field (docs/engine.md §5.1 to §5.4).

Pure functions of values. A field is compared after the schema's defaults, a list of references as a set. ``MayRemove``
decides what must not be removed now. The planner decides which fields may be written on which object, and orders the
writes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from intentc.model import Key, Kind, Name, ReferenceValue, Writer
from intentc.model.kind import Property

from .actual import Actual, empty_values
from .claims import Item
from .merge import Desired, elements, with_elements

Entries = Mapping[Key, ReferenceValue]

MayRemove = Callable[[Item], bool]
"""Whether a part of one object may be removed now; if not, the object is planned again when that changes."""


class Wanted(NamedTuple):
    """The desired entries of one relation whose targets exist. ``disputed``: targets whose stored entry stays as it is.
    ``merge``: combines the desired attribute with a stored one that must not lose anything."""

    entries: Entries
    disputed: Collection[Name]
    merge: Callable[[Any, Any], Any] | None


def property_changes(actual: Actual, desired: Desired, may_remove: MayRemove, *, every: bool) -> dict[str, Any]:
    """field → new value, the default or None where it is cleared. ``every``: all claimed fields are ours to write,
    since we made the object; otherwise only those that the schema gives to compilers."""
    kind = actual.kind
    changes: dict[str, Any] = {}
    for field, value in desired.properties.items():
        declared = kind.properties.get(field)
        if not every and (declared is None or declared.writer is not Writer.COMPILER):
            continue
        stored = actual.value(field)
        if stored == value:
            continue
        if declared is not None and declared.collection:
            value = _with_kept(declared, field, stored, value, may_remove)
        if value != stored:
            changes[field] = value
    if every and kind.written_as_manifests:
        changes |= dict.fromkeys(_cleared(actual, desired))
    for field in kind.compiler_properties:
        if field in desired.properties or field in desired.disputed:
            continue
        default = default_of(kind, field)
        if actual.value(field) != default and may_remove(field):
            changes[field] = default
    for path, value in desired.inner.items():
        field, _, inner = path.partition(".")
        stored = changes.get(field, actual.value(field))
        changed = _with_inner(stored, inner, value)
        if changed != stored:
            changes[field] = changed
    return changes


def _with_inner(stored: Any, path: str, value: Any) -> Any:
    """A struct like ``stored`` with ``value`` at ``path``."""
    field, _, inner = path.partition(".")
    return msgspec.structs.replace(
        stored, **{field: _with_inner(getattr(stored, field), inner, value) if inner else value}
    )


def _cleared(actual: Actual, desired: Desired) -> Iterator[str]:
    """The user's fields of our manifest that are no longer claimed: a manifest defines all of its resource. They are
    cleared by null, since admission may reject a default."""
    for field in sorted(actual.kind.user_fields - {"annotations"}):
        if field in actual.kind.properties or field == "labels":
            kept = field in desired.properties or field in desired.disputed
            if not kept and actual.value(field) not in (None, default_of(actual.kind, field)):
                yield field


def default_of(kind: Kind, field: str) -> Any:
    """The meaning of a missing field."""
    return getattr(empty_values(kind), field)


def _with_kept(declared: Property, field: str, stored: Any, value: Any, may_remove: MayRemove) -> Any:
    """``value`` together with the stored elements that must not be removed."""
    old, new = elements(stored), elements(value)
    if old is None or new is None:
        return value
    by_key = declared.collection == "map"
    places = {getattr(element, declared.map_key) if by_key else element for element in new}
    left = tuple(e for e in old if (getattr(e, declared.map_key) if by_key else e) not in places)
    if not left or may_remove(field):
        return value
    if all(element in old for element in new):
        return stored
    return with_elements(value, (*left, *new))


def list_change(
    relation: str, stored: Entries, wanted: Wanted, may_remove: MayRemove
) -> tuple[ReferenceValue, ...] | None:
    """The whole new list of a relation that compilers write, sorted by name; None if it is already right."""
    result = dict(wanted.entries)
    for key, entry in stored.items():
        item = Name(relation, entry.fq_name)
        own = wanted.entries.get(key)
        if item in wanted.disputed or (own is None and not may_remove((relation, item))):
            result[key] = entry
        elif own is not None and own.attribute != entry.attribute:
            result[key] = own._replace(attribute=_attribute(entry, own, wanted, may_remove, (relation, item)))
    if _attributes(result) == _attributes(stored):
        return None
    return in_order(result.values())


class EntryChanges(NamedTuple):
    """The entries to add (or give another attribute) and to remove in a shared list, each sorted by name."""

    add: tuple[ReferenceValue, ...]
    remove: tuple[Key, ...]


def entry_changes(
    relation: str, stored: Entries, wanted: Wanted, is_ours: Callable[[ReferenceValue], bool], may_remove: MayRemove
) -> EntryChanges:
    """The changes of a shared list. An existing entry that is not ours is the user's and stays as it is."""
    add, remove = [], []
    for key, own in wanted.entries.items():
        entry = stored.get(key)
        if entry is None:
            add.append(own)
        elif own.attribute != entry.attribute and is_ours(entry):
            item = (relation, Name(relation, entry.fq_name))
            merged = own._replace(attribute=_attribute(entry, own, wanted, may_remove, item))
            if merged.attribute != entry.attribute:
                add.append(merged)
    for key, entry in stored.items():
        item = (relation, Name(relation, entry.fq_name))
        if key not in wanted.entries and item[1] not in wanted.disputed and is_ours(entry) and may_remove(item):
            remove.append(entry)
    return EntryChanges(in_order(add), tuple(entry.key for entry in in_order(remove)))


def _attribute(entry: ReferenceValue, own: ReferenceValue, wanted: Wanted, may_remove: MayRemove, item: Item) -> Any:
    """The desired attribute, merged with the stored one if that must not lose anything."""
    if wanted.merge is None:
        return own.attribute
    merged = wanted.merge(entry.attribute, own.attribute)
    return own.attribute if merged == own.attribute or may_remove(item) else merged


def in_order(entries: Iterable[ReferenceValue]) -> tuple[ReferenceValue, ...]:
    """Entries sorted by the targets' names."""
    return tuple(sorted(entries, key=lambda entry: (entry.fq_name, entry.key)))


def _attributes(entries: Entries) -> dict[Key, Any]:
    return {key: entry.attribute for key, entry in entries.items()}
