"""Removes references to resources that are about to be deleted, so that nothing blocks the deletion.

It handles references that users write. References by compilers never block a deletion, and children have to be deleted
themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from intentc.model import Key, Kind, Schema
from intentc.model.kind import Writer

from .client import ApiClient, Change
from .lookup import read

_BACK = "_back_refs"


class Holder(NamedTuple):
    """A resource that loses references: its key and fq_name, and the remaining references by field."""

    key: Key
    fq_name: list[str]
    fields: Mapping[str, list[Any]]

    def change(self, if_match: int | None) -> Change:
        return Change("UPDATE", self.key.kind, {"uuid": self.key.uuid, **self.fields}, if_match)


async def holders_of(client: ApiClient, schema: Schema, keys: Collection[Key]) -> list[Holder]:
    """The resources outside ``keys`` that refer to one of them, sorted by key."""
    going = {key.uuid for key in keys}
    found: dict[Key, Holder] = {}
    for key in keys:
        for kind, uuids in await _referring(client, schema, key):
            for holder in [Key(kind.name, uuid) for uuid in uuids if uuid not in going]:
                if holder in found:
                    continue
                stored = await client.get(kind, holder.uuid) or {}
                found[holder] = Holder(holder, stored.get("fq_name", []), _left(stored, going))
    return [holder for _, holder in sorted(found.items())]


async def _referring(client: ApiClient, schema: Schema, key: Key) -> list[tuple[Kind, list[str]]]:
    """The kinds whose user references lead to ``key``, with the uuids of those resources."""
    kinds = {
        kind.name: kind
        for kind, relation in schema.referring.get(key.kind, ())
        if relation in kind.relations and kind.relations[relation].writer is Writer.USER
    }
    found = await read(client, schema.kind(key.kind), key.uuid)
    if found is not None and found.data is None:
        # The server can't show back references of an unreadable resource: query each kind.
        listed = [(kind, await client.referring(kind, key.uuid)) for kind in kinds.values()]
        return [(kind, [data["uuid"] for data in resources]) for kind, resources in listed]
    document = found.data if found is not None and found.data is not None else {}
    back = [(kind, document.get(f"{name}{_BACK}", ())) for name, kind in kinds.items()]
    return [(kind, [entry["uuid"] for entry in entries]) for kind, entries in back]


def _left(document: Mapping[str, Any], going: Collection[str]) -> dict[str, list[Any]]:
    return {
        field: left
        for field, entries in document.items()
        if field.endswith("_refs") and not field.endswith(_BACK) and isinstance(entries, list)
        if len(left := [entry for entry in entries if entry.get("uuid") not in going]) < len(entries)
    }
