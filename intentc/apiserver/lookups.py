"""Finds the resources that rules name, in their state after the mutation.

Why it exists: rules do no I/O; ``admission/rules.py`` defines what they can name, and here it is read.

It reads through the draft, and adds the compares that the reads need to it; it stages no write.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc.model import Key, Name

from .admission.rules import ByName, ByUuid, ChildrenOf, Every, Following, Lookup, Referrers, UnchangedByName
from .documents import Document
from .draft import Draft


async def look_up(draft: Draft, lookup: Lookup) -> list[Document]:
    """The documents of a lookup; those that can't be read are left out."""
    match lookup:
        case ByUuid():
            keys: Iterable[Key] = [Key(lookup.kind, lookup.uuid)]
        case ByName():
            keys = await _named(draft, lookup)
        case UnchangedByName():
            keys = await _named(draft, lookup)
            await _guard(draft, keys)
        case ChildrenOf():
            keys = await draft.children(lookup.uuid, lookup.kind)
        case Every():
            keys = await draft.every(lookup.kind)
        case Following():
            return await _follow(draft, lookup)
        case Referrers():
            starts = [Key(_kind_of(lookup.start), found["uuid"]) for found in await look_up(draft, lookup.start)]
            keys = [key for start in starts for key in await draft.referrers(start, lookup.kind)]
    return await _readable(draft, keys)


async def _readable(draft: Draft, keys: Iterable[Key]) -> list[Document]:
    keys = list(dict.fromkeys(keys))
    await draft.load(keys)
    documents = [await draft.readable(key) for key in keys]
    return [document for document in documents if document is not None]


async def _named(draft: Draft, lookup: ByName | UnchangedByName) -> list[Key]:
    uuid = await draft.find(Name(lookup.kind, lookup.fq_name))
    return [Key(lookup.kind, uuid)] if uuid else []


async def _follow(draft: Draft, lookup: Following) -> list[Document]:
    documents = await look_up(draft, lookup.start)
    for relation in lookup.path:
        entries = [entry for document in documents for entry in document.get(f"{relation}_refs") or ()]
        documents = await _readable(draft, (Key(relation, entry["uuid"]) for entry in entries if entry.get("uuid")))
    if lookup.path:
        await _guard(draft, [Key(lookup.path[-1], document["uuid"]) for document in documents])
    return documents


async def _guard(draft: Draft, keys: Iterable[Key]) -> None:
    for key in keys:
        await draft.guard(draft.layout.value(key))


def _kind_of(lookup: Lookup) -> str:
    return lookup.path[-1] if isinstance(lookup, Following) else lookup.kind
