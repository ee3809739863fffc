"""Computes the least change from what an object has to its desired state, field by field (docs/engine.md §5.1 to §5.4).

A field is compared after the schema's defaults, a list of references as a set. A function that may remove a part first
calls ``may_remove`` (a ``MayRemove``), which the planner passes in: it returns False for what must stay now, and the
planner records that as deferred. The planner also decides which fields of which object may be written, and orders the
writes. ``status.py`` compares the status, ``ending.py`` the finalizers. Nothing that is passed in is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from intentc.model import Key, Kind, Name, ReferenceValue, Writer
from intentc.model.kind import Property
from intentc.model.metadata import FINALIZERS, METADATA
from intentc.model.types import FieldSpec

from .actual import Actual, empty_values
from .claims import Item
from .merge import Desired, elements, with_elements

Entries = Mapping[Key, ReferenceValue]

NO_ENTRIES: Entries = {}

MayRemove = Callable[[Item], bool]
"""A function of the planner: whether this part of the object may be removed now. If not, the planner defers the
removal, and plans the object again when it may."""


def always(item: Item) -> bool:
    """A ``MayRemove`` for which everything may be removed."""
    return True


class Wanted(NamedTuple):
    """The desired entries of one relation whose targets exist. ``disputed``: targets whose stored entry stays as it is
    (no entry is added for them either).
    ``merge``: combines the desired attribute with a stored one that must not lose anything."""

    entries: Entries
    disputed: Collection[Key]
    merge: Callable[[Any, Any], Any] | None


def claimed_properties(kind: Kind, desired: Desired, actual: Actual | None, *, made: bool) -> dict[str, Any]:
    """field → its claimed value, with the claimed parts in it. ``actual``: the object, None if it is to be created.
    ``made``: we made the object. A part is set in what its property is claimed to be, otherwise in the stored
    value; in our manifest, which defines all of its resource, in the default."""
    declared = kind.properties
    claimed = {
        field: value
        for field, value in desired.properties.items()
        if made or (field in declared and declared[field].writer is Writer.COMPILER)
    }
    whole = made and kind.written_as_manifests
    for path, value in sorted(desired.inner.items()):
        field, _, inner = path.partition(".")
        if field in claimed:
            base = claimed[field]
        elif actual is None or (whole and field not in desired.disputed):
            base = default_of(kind, field)
        else:
            base = actual.value(field)
        claimed[field] = _with_part(kind, kind.properties[field].spec, base, inner, value)
    for item in desired.disputed:
        field, _, inner = item.partition(".") if isinstance(item, str) else ("", "", "")
        if inner and field in claimed and actual is not None:
            stored = part_at(actual.value(field), inner)
            claimed[field] = _with_part(kind, kind.properties[field].spec, claimed[field], inner, stored)
    return claimed


def property_changes(actual: Actual, desired: Desired, may_remove: MayRemove, *, made: bool) -> dict[str, Any]:
    """field → new value, the default or None where it is cleared. ``made``: we made the object, so that more fields
    may be ours to write."""
    kind = actual.kind
    claimed = claimed_properties(kind, desired, actual, made=made)
    changes: dict[str, Any] = {}
    for field, value in claimed.items():
        declared = kind.properties.get(field)
        stored = actual.value(field)
        if stored == value:
            continue
        if declared is not None and declared.collection:
            value = _with_kept(declared, field, stored, value, may_remove)
        if value != stored:
            changes[field] = value
    for field in _ours(kind, made=made):
        if field in claimed or field in desired.disputed:
            continue
        default = default_of(kind, field)
        if actual.value(field) not in (None, default) and may_remove(field):
            # Admission may reject a default that a user could not give either.
            changes[field] = default if field in kind.compiler_properties else None
    return changes | _annotated(actual, changes)


def _ours(kind: Kind, *, made: bool) -> tuple[str, ...]:
    """The properties that have no value unless one is claimed."""
    found = kind.written(made=made).properties
    return (*found, METADATA) if made and kind.written_as_manifests else found


def _annotated(actual: Actual, changes: Mapping[str, Any]) -> dict[str, Any]:
    """``annotations`` as a whole, if a property changes whose value is in one of them: the others stay."""
    declared = ((actual.kind.properties.get(field), value) for field, value in changes.items())
    new = {found.annotation: value for found, value in declared if found is not None and found.annotation}
    if not new:
        return {}
    stored = actual.value("annotations")
    pairs = {pair.key: pair.value for pair in stored.key_value_pair} | new
    return {"annotations": {"key_value_pair": [{"key": key, "value": value} for key, value in pairs.items()]}}


def _with_part(kind: Kind, spec: FieldSpec, base: Any, path: str, value: Any) -> Any:
    """A struct like ``base``, of the type that ``spec`` names, with ``value`` at ``path``. None is an empty struct."""
    field, _, inner = path.partition(".")
    if base is None:
        base = kind.types.struct(spec.type)()
    if inner:
        value = _with_part(kind, kind.types.fields(spec.type)[field], getattr(base, field), inner, value)
    return msgspec.structs.replace(base, **{field: value})


def part_at(value: Any, path: str) -> Any:
    """What stands at ``path`` in a struct; None below a field that is None."""
    for step in path.split("."):
        value = getattr(value, step, None)
    return value


def default_of(kind: Kind, field: str) -> Any:
    """The meaning of a missing field."""
    return getattr(empty_values(kind), field) if field != FINALIZERS else ()


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
        if key in wanted.disputed or (own is None and not may_remove((relation, item))):
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


def differing(stored: Entries, wanted: Wanted) -> Iterator[ReferenceValue]:
    """The stored entries of a shared list that ``entry_changes`` changes or removes if they are ours."""
    for key, entry in stored.items():
        own = wanted.entries.get(key)
        if own.attribute != entry.attribute if own is not None else key not in wanted.disputed:
            yield entry


def entry_changes(
    relation: str, stored: Entries, wanted: Wanted, ours: Container[Key], may_remove: MayRemove
) -> EntryChanges:
    """The changes of a shared list. ``ours``: the targets of those of its ``differing`` entries that are ours; the
    others are the user's and stay as they are."""
    add, remove = [], []
    for key, own in wanted.entries.items():
        entry = stored.get(key)
        if entry is None:
            add.append(own)
        elif own.attribute != entry.attribute and key in ours:
            item = (relation, Name(relation, entry.fq_name))
            merged = own._replace(attribute=_attribute(entry, own, wanted, may_remove, item))
            if merged.attribute != entry.attribute:
                add.append(merged)
    for key, entry in stored.items():
        item = (relation, Name(relation, entry.fq_name))
        if key not in wanted.entries and key not in wanted.disputed and key in ours and may_remove(item):
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
