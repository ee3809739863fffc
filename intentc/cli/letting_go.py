"""What refers to resources that are to be deleted lets go of them, so that nothing holds them.

Only references that people write are looked at: what compilers relate to never blocks a deletion, and children have to
be deleted themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from intentc.model import Key, Schema
from intentc.model.kind import Writer

from .client import ApiClient, Change

_BACK = "_back_refs"


class Holder(NamedTuple):
    """A resource that lets go: its key and fq_name, and its references after that, by field."""

    key: Key
    fq_name: list[str]
    fields: Mapping[str, list[Any]]

    def change(self, if_match: int | None) -> Change:
        return Change("UPDATE", self.key.kind, {"uuid": self.key.uuid, **self.fields}, if_match)


async def holders_of(client: ApiClient, schema: Schema, keys: Collection[Key]) -> list[Holder]:
    """Those that refer to one of ``keys`` and are none of them themselves, by key."""
    going = {key.uuid for key in keys}
    found: dict[Key, Holder] = {}
    for key in keys:
        document = await client.get(schema.kind(key.kind), key.uuid) or {}
        for field, entries in document.items():
            kind = schema.kinds.get(field.removesuffix(_BACK)) if field.endswith(_BACK) else None
            if kind is None or kind.relations[key.kind].writer is not Writer.USER:
                continue
            for holder in [Key(kind.name, entry["uuid"]) for entry in entries if entry["uuid"] not in going]:
                if holder in found:
                    continue
                stored = await client.get(kind, holder.uuid) or {}
                found[holder] = Holder(holder, stored.get("fq_name", []), _left(stored, going))
    return [holder for _, holder in sorted(found.items())]


def _left(document: Mapping[str, Any], going: Collection[str]) -> dict[str, list[Any]]:
    return {
        field: left
        for field, entries in document.items()
        if field.endswith("_refs") and not field.endswith(_BACK) and isinstance(entries, list)
        if len(left := [entry for entry in entries if entry.get("uuid") not in going]) < len(entries)
    }
