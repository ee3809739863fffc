"""Lists the parts of one object that a write changes, names them for people, and reduces a write to some of them.

A write of a whole list changes single entries of it. If one entry must be left alone (another writer reverts it), the
others must still be written, so operations are taken apart and reassembled here. Pure functions of values, and of
``stored``, which is asked for entries. Their callers decide which parts to leave alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from intentc.model import (
    AddReference,
    Create,
    Delete,
    Key,
    Name,
    Operation,
    ReferenceValue,
    RemoveReference,
    Update,
    UpdateStatus,
)
from intentc.model.status import STATUS, status_item

from .claims import EXISTENCE, Item
from .diff import in_order

Stored = Callable[[str], Mapping[Key, ReferenceValue]]
"""relation → its present stored entries, by target."""


def items(operation: Operation, stored: Stored) -> frozenset[Item]:
    """The parts of its object that a write changes: fields, (relation, target), or ``EXISTENCE``."""
    return frozenset(_items(operation, stored))


def without(operation: Operation, left_alone: Collection[Item], stored: Stored) -> Operation | None:
    """The same write with the parts ``left_alone`` as they are stored now; None if it then changes nothing."""
    match operation:
        case Create() | Delete():
            return None if EXISTENCE in left_alone else operation
        case AddReference() | RemoveReference():
            return None if items(operation, stored) & frozenset(left_alone) else operation
        case UpdateStatus(parts=parts):
            left = {item: value for item, value in parts.items() if status_item(item) not in left_alone}
            return operation._replace(parts=left) if left or (not parts and STATUS not in left_alone) else None
        case Update(properties=properties, references=references):
            kept = {field: value for field, value in properties.items() if field not in left_alone}
            lists = {}
            for relation, entries in references.items():
                before = stored(relation)
                after = {e.key: e for e in entries if (relation, _target(relation, e)) not in left_alone}
                after |= {k: e for k, e in before.items() if (relation, _target(relation, e)) in left_alone}
                if _attributes(after) != _attributes(before):
                    lists[relation] = in_order(after.values())
            if not kept and not lists:
                return None
            return operation._replace(properties=kept, references=lists)


def text(item: Item) -> str:
    """An item as text: ``content``, ``route_target_refs[target:64512:7]``, ``the object itself``."""
    if isinstance(item, str):
        return item or "the object itself"
    relation, target = item
    return f"{relation}_refs[{':'.join(target.fq_name)}]"


def _items(operation: Operation, stored: Stored) -> Iterator[Item]:
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


def _target(relation: str, entry: ReferenceValue) -> Name:
    return Name(relation, entry.fq_name or (entry.key.uuid,))


def _attributes(entries: Mapping[Key, ReferenceValue]) -> dict[Key, object]:
    return {key: entry.attribute for key, entry in entries.items()}
