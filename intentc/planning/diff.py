"""Computes the least change from what an object has to its desired state, field by field (docs/engine.md §5.1 to §5.4).

A field is compared after the schema's defaults, a list of references as a set. A function that may remove a part first
calls ``may_remove`` (a ``MayRemove``), which the planner passes in: it returns False for what must stay now, and the
planner records that as deferred. The planner also decides which fields of which object may be written, and orders the
writes. ``finalizers.py`` compares status and finalizers. Besides, this module lists the parts of an object that a write
changes, and reduces a write to some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from intentc.model import (
    AddReference,
    Create,
    Delete,
    Key,
    Kind,
    Name,
    Operation,
    ReferenceValue,
    RemoveReference,
    Update,
    UpdateStatus,
    Writer,
)
from intentc.model.kind import Property
from intentc.model.metadata import FINALIZERS, METADATA
from intentc.model.status import STATUS, status_item
from intentc.model.types import FieldSpec

from .actual import Actual, empty_values
from .claims import EXISTENCE, Item
from .merge import Desired, elements, with_elements

Entries = Mapping[Key, ReferenceValue]

NO_ENTRIES: Entries = {}

MayRemove = Callable[[Item], bool]
"""Whether this part of the object may be removed now."""


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


def is_as_created(actual: Actual, create: Create) -> bool:
    """Whether a plan of an object would find nothing to do, since all that we write of it is as we created it. False
    for kinds with metadata, a status, or references of ours, of which more would have to be compared."""
    kind, parent = actual.kind, create.parent.key if create.parent else None
    written = kind.written(made=True)
    if kind.written_as_manifests or kind.status is not None or written.relations or written.shared:
        return False
    if actual.mark != create.mark or actual.parent != parent or actual.fq_name != create.fq_name:
        return False
    wanted = create.properties
    return all(
        actual.value(field) == (wanted[field] if field in wanted else default_of(kind, field))
        for field in (*wanted, *written.properties)
    )


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


def differing(stored: Entries, wanted: Wanted) -> Iterator[ReferenceValue]:
    """The stored entries of a shared list that ``entry_changes`` changes or removes if they are ours."""
    for key, entry in stored.items():
        own = wanted.entries.get(key)
        if own.attribute != entry.attribute if own is not None else key not in wanted.disputed:
            yield entry


def entry_changes(
    relation: str, stored: Entries, wanted: Wanted, ours: Container[Key], may_remove: MayRemove
) -> tuple[tuple[ReferenceValue, ...], tuple[Key, ...]]:
    """The entries to add (or give another attribute) and to remove in a shared list, each sorted by name. ``ours``: the
    targets of those of its ``differing`` entries that are ours; the others are the user's and stay as they are."""
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
    return in_order(add), tuple(entry.key for entry in in_order(remove))


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


Stored = Callable[[str], Mapping[Key, ReferenceValue]]
"""relation → its present stored entries, by target."""


def items_of(operation: Operation, stored: Stored) -> Iterator[Item]:
    """The parts of its object that a write changes: fields, (relation, target), or ``EXISTENCE``."""
    match operation:
        case Create() | Delete():
            yield EXISTENCE
        case AddReference(relation=relation, target=added):
            yield relation, _target(relation, added)
        case RemoveReference(relation=relation, target=key):
            found = stored(relation).get(key)
            yield relation, _target(relation, found) if found is not None else Name(relation, (key.uuid,))
        case UpdateStatus(parts=parts):
            yield from map(status_item, parts)
            if not parts:
                yield STATUS
        case Update(properties=properties, references=references):
            yield from properties
            for relation, entries in references.items():
                before, after = stored(relation), {entry.key: entry for entry in entries}
                for key in before.keys() | after.keys():
                    one, other = before.get(key), after.get(key)
                    entry = one or other
                    if entry is not None and (one is None or other is None or one.attribute != other.attribute):
                        yield relation, _target(relation, entry)


def without_items(operation: Operation, is_left: Callable[[Item], bool], stored: Stored) -> Operation | None:
    """The same write in which the parts that are left alone stay as they are stored; None if it then changes nothing.

    A write of a whole list changes single entries of it. If another writer reverts one of them, or a user's reference
    must stay, the others are written nevertheless."""
    match operation:
        case Create() | Delete():
            return None if is_left(EXISTENCE) else operation
        case AddReference() | RemoveReference():
            return None if any(map(is_left, items_of(operation, stored))) else operation
        case UpdateStatus(parts=parts):
            left = {item: value for item, value in parts.items() if not is_left(status_item(item))}
            return operation._replace(parts=left) if left or (not parts and not is_left(STATUS)) else None
        case Update(properties=properties, references=references):
            kept = {field: value for field, value in properties.items() if not is_left(field)}
            lists = {}
            for relation, entries in references.items():
                before = stored(relation)
                after = {e.key: e for e in entries if not is_left((relation, _target(relation, e)))}
                after |= {k: e for k, e in before.items() if is_left((relation, _target(relation, e)))}
                if _attributes(after) != _attributes(before):
                    lists[relation] = in_order(after.values())
            if not kept and not lists:
                return None
            return operation._replace(properties=kept, references=lists)


def item_text(item: Item) -> str:
    """An item as text: ``content``, ``route_target_refs[target:64512:7]``, ``the object itself``."""
    if isinstance(item, str):
        return item or "the object itself"
    relation, target = item
    return f"{relation}_refs[{':'.join(target.fq_name)}]"


def _target(relation: str, entry: ReferenceValue) -> Name:
    return Name(relation, entry.fq_name or (entry.key.uuid,))
