"""Derives the index entries of stored resources, and finds the resources whose entries in etcd differ.

Why it exists: writes of the API server, its checks of what others wrote, and the search for entries without a resource
must agree. What others wrote or deleted while no API server ran shows only in a comparison of the whole index. It costs
one read of the index, in pages, and a number for each entry in memory. Both sides are not read at one revision: a write
in between makes its resource a suspect at most, and ``repair`` reads suspects anew.
"""

from __future__ import annotations

from collections.abc import Iterable

import anyio.lowlevel

from intentc.model import Key, Kind, Name, Schema, escaped_segment
from intentc.model.events import Change
from intentc.watch.listing import items_below
from intentc.watch.protocol import Store

from ..documents import Document, decode, decode_entry, encode, relationships
from ..errors import BrokenEntry, Malformed
from ..layout import CHILD, Holder, Layout

_PARTS_OF_RELATION = 3
"""Kind, uuid and sort of a holder, after the target."""


def name_entries(layout: Layout, key: Key, document: Document) -> dict[str, bytes]:
    """The entries of a resource's name: from name to uuid, and back."""
    name = Name(key.kind, tuple(document["fq_name"]))
    return {layout.identity(key.uuid): encode(name), layout.name(name): key.uuid.encode()}


def relation_entries(layout: Layout, kind: Kind, key: Key, document: Document) -> dict[str, Key]:
    """The entries of a resource's parent and references, each with that target. Their values are the resource's name. A
    reference that was relaxed has its entry among the links instead (``relaxed_entry``)."""
    found: dict[str, Key] = {}
    for (target, sort), derived in relationships(kind, document):
        holder = Holder(key, sort)
        found[layout.link(target.uuid, holder) if derived else layout.hold(target.uuid, holder)] = target
    return found


def relaxed_entry(layout: Layout, entry: str) -> str | None:
    """Where the entry of a reference that blocks a deletion is once the reference is relaxed; None for others."""
    where = layout.parse(entry)
    if where is None or where.part != "holds":
        return None
    holder = layout.holder(entry)
    return None if holder.sort == CHILD else layout.link(where.rest.rsplit("/", _PARTS_OF_RELATION)[0], holder)


def owner(layout: Layout, entry: str, value: bytes) -> Key | None:
    """The resource to which an entry belongs; None if it can't be read, or belongs to none (pools)."""
    where = layout.parse(entry)
    if where is None:
        return None
    match where.part:
        case "name":
            return Key(where.rest.partition("/")[0], value.decode("utf-8", "replace"))
        case "uuid":
            try:
                return Key(decode_entry(value, Name, entry).kind, where.rest)
            except BrokenEntry:
                return None
        case "holds" | "links":
            return layout.holder(entry).key if where.rest.count("/") >= _PARTS_OF_RELATION else None
        case "beside":
            kind, _, segment = where.rest.partition("/")
            return Key(kind, escaped_segment(segment))
        case _:
            return None


PARTS = ("name", "uuid", "holds", "links", "beside")
"""The parts of the index that follow from values."""
_BETWEEN_CHECKPOINTS = 50

Suspects = dict[Key, set[str]]
"""Resources to check, each with entries in etcd that seem to be wrong."""


async def suspects(store: Store, schema: Schema, layout: Layout, changes: Iterable[Change]) -> Suspects:
    """The resources whose entries differ from those that follow from ``changes``, the values of all resources.

    A value that can't be read keeps its entries. Raises ``Failure``.
    """
    expected: dict[int, Key] = {}
    relaxed: dict[int, int] = {}
    stored: set[Key] = set()
    unreadable: set[Key] = set()
    for count, change in enumerate(changes):
        if count % _BETWEEN_CHECKPOINTS == 0:
            await anyio.lowlevel.checkpoint()
        key = Key(change.kind, change.uuid)
        try:
            wanted = wanted_entries(schema, layout, key, change.value)
        except Malformed:
            unreadable.add(key)
            continue
        stored.add(key)
        for entry, value in wanted.items():
            expected[hash((entry, value))] = key
            if other := relaxed_entry(layout, entry):
                relaxed[hash((other, value))] = hash((entry, value))
    found: Suspects = {}
    for part in PARTS:
        async for item in items_below(store, layout.index(part)):
            present = hash((item.key, item.value))
            if expected.pop(present, None) or expected.pop(relaxed.get(present, present), None):
                continue
            key_of_entry = owner(layout, item.key, item.value)
            is_kept = part == "beside" and key_of_entry in stored
            if key_of_entry and key_of_entry.kind in schema and key_of_entry not in unreadable and not is_kept:
                found.setdefault(key_of_entry, set()).add(item.key)
    for count, key in enumerate(expected.values()):
        if count % _BETWEEN_CHECKPOINTS == 0:
            await anyio.lowlevel.checkpoint()
        found.setdefault(key, set())
    return found


def wanted_entries(schema: Schema, layout: Layout, key: Key, value: bytes | None) -> dict[str, bytes]:
    """The entries that follow from a value; none if it is absent or of a kind that is not served. Raises
    ``Malformed``."""
    kind = schema.kinds.get(key.kind)
    if value is None or kind is None or not kind.stored:
        return {}
    where = layout.value(key)
    document = decode(kind, value, where, key.uuid)
    try:
        relations = relation_entries(layout, kind, key, document)
        return name_entries(layout, key, document) | dict.fromkeys(relations, encode(document["fq_name"]))
    except Exception as error:
        # No value that others wrote may end the server.
        raise Malformed(f"the value of {where} can't be indexed: {error!r}") from error
