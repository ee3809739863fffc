"""Deletes resources at the API server, for ``delete`` and for plans.

With ``remove_references``, references that users wrote to them are removed in the same transaction. References by
compilers never block a deletion, and children have to be deleted themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from intentc.loading.resource_files import Loaded as Input
from intentc.model import InvalidInput, Key, Kind, Schema
from intentc.model.kind import Writer

from .api_client import ApiClient, Change, Rejected
from .command_error import CommandError
from .named_resources import kind_named, look_up, read
from .transfer import STALE, Done, Sent, Stale, present, send, with_names

_BACK = "_back_refs"


async def delete_named(
    client: ApiClient,
    schema: Schema,
    kind_name: str,
    names: Sequence[str],
    seen: Mapping[Key, int] | None = None,
    *,
    remove_references: bool = False,
) -> list[Done]:
    """Delete the resources of one kind by ``names``, and return what was done. ``seen``: as for ``delete_by``.
    ``remove_references``: references to them are removed in the same transaction."""
    kind = kind_named(schema, kind_name)
    # Look up all before deleting the first: a misspelt name must not leave half of them deleted.
    found = {Key(kind.name, one.uuid): one for one in [await look_up(client, kind, name) for name in names]}
    holders = await holders_of(client, schema, found) if remove_references else []
    changes = [holder.change(_revision(seen, holder.key)) for holder in holders]
    changes += [Change("DELETE", key.kind, {"uuid": key.uuid}, _revision(seen, key)) for key in found]
    try:
        await client.sync(changes)
    except Rejected as error:
        if seen is not None and error.status in STALE:
            raise Stale(error.what) from None
        if error.item is not None and error.item < len(holders):
            holder = holders[error.item]
            reason = await with_names(client, error.what)
            raise CommandError(
                f"{holder.key.kind} {':'.join(holder.fq_name)} keeps its reference: {reason}",
                where=error.where,
                next_step="change its reference, or delete it first",
                code=error.code,
            ) from None
        held = not remove_references and error.status in STALE
        hint = (
            "or give --remove-references: references to it are removed in the same transaction"
            if held
            else error.next_step
        )
        raise CommandError(
            await with_names(client, error.what), where=error.where, next_step=hint, code=error.code
        ) from None
    return [(key.kind, fq_name, "reference removed") for key, fq_name, _ in holders] + [
        (key.kind, one.fq_name or [one.uuid], "deleted") for key, one in found.items()
    ]


async def delete_by(
    client: ApiClient, resources: Sequence[Input], schema: Schema, seen: Mapping[Key, int] | None = None
) -> tuple[list[Input], list[str | None]]:
    """Delete ``resources`` (targets first, from ``read_input``) at the server of ``client``. Returns them in the order
    of deletion, with the uuid of each that existed. ``seen``: the revisions that all of them must still have; then they
    go in one transaction, and ``Stale`` is raised if one has another revision."""
    order = list(reversed(resources))
    for resource in order:
        if not resource.data.get("fq_name") and not resource.data.get("uuid"):
            raise InvalidInput("deleting needs the resource's fq_name or uuid", source=resource.source)
    uuids = await present(client, order, schema)
    changes = [
        Sent(resource, Change("DELETE", resource.kind, {"uuid": uuid}, _revision(seen, Key(resource.kind, uuid))))
        for resource, uuid in zip(order, uuids, strict=True)
        if uuid
    ]
    await send(client, changes, together=seen is not None)
    return order, uuids


def _revision(seen: Mapping[Key, int] | None, key: Key) -> int | None:
    return None if seen is None else seen.get(key, 0)


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
