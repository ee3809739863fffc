"""Derives the index entries of a stored resource, and the resource to which an entry belongs.

Why it exists: writes of the API server, its checks of what others wrote, and the search for entries without a resource
must agree on both. ``Layout`` defines the keys.

Pure functions.
"""

from __future__ import annotations

from intentc.model import Key, Kind, Name, escaped_segment

from ..documents import Document, Relationship, decode_entry, encode, relationships
from ..errors import BrokenEntry
from ..layout import CHILD, Holder, Layout

_PARTS_OF_RELATION = 3
"""Kind, uuid and sort of a holder, after the target."""


def relation_entry(layout: Layout, key: Key, relationship: Relationship, *, derived: bool) -> str:
    """The key of the entry for a parent or reference of ``key``; a derived one never blocks its target's deletion."""
    holder = Holder(key, relationship.sort)
    uuid = relationship.target.uuid
    return layout.link(uuid, holder) if derived else layout.hold(uuid, holder)


def entries(layout: Layout, kind: Kind, key: Key, document: Document) -> dict[str, bytes]:
    """All index entries of a resource. A reference that was relaxed has its entry among the links instead
    (``relaxed_entry``)."""
    name = Name(key.kind, tuple(document["fq_name"]))
    shown = encode(name.fq_name)
    found = {layout.name(name): key.uuid.encode(), layout.identity(key.uuid): encode(name)}
    for relationship, derived in relationships(kind, document):
        found[relation_entry(layout, key, relationship, derived=derived)] = shown
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
