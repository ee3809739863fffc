"""Deletes resources at the API server, for ``delete`` and for plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .errors import CommandError

if TYPE_CHECKING:
    from intentc.loading.resources import Loaded as Input
    from intentc.model import Key, Schema

    from .client import ApiClient
    from .transfer import Done


async def delete_named(
    client: ApiClient,
    schema: Schema,
    kind_name: str,
    names: Sequence[str],
    seen: Mapping[Key, int] | None = None,
    *,
    let_go: bool = False,
) -> list[Done]:
    """Delete the resources of one kind by ``names``, and return what was done. ``seen``: as for ``delete_by``.
    ``let_go``: references to them are removed in the same transaction."""
    from intentc.model import Key

    from .client import Change, Refused
    from .letting_go import holders_of
    from .lookup import look_up
    from .naming import kind_named
    from .transfer import STALE, Stale, with_names

    kind = kind_named(schema, kind_name)
    # Look up all before deleting the first: a misspelt name must not leave half of them deleted.
    found = {Key(kind.name, one.uuid): one for one in [await look_up(client, kind, name) for name in names]}
    holders = await holders_of(client, schema, found) if let_go else []
    changes = [holder.change(_revision(seen, holder.key)) for holder in holders]
    changes += [Change("DELETE", key.kind, {"uuid": key.uuid}, _revision(seen, key)) for key in found]
    try:
        await client.sync(changes)
    except Refused as error:
        if seen is not None and error.status in STALE:
            raise Stale(error.what) from None
        if error.item is not None and error.item < len(holders):
            holder = holders[error.item]
            raise CommandError(
                f"{holder.key.kind} {':'.join(holder.fq_name)} can't let go: {await with_names(client, error.what)}",
                where=error.where,
                next_step="change its reference, or delete it first",
                code=error.code,
            ) from None
        held = not let_go and error.status in STALE
        hint = "or give --let-go: then they let go, in the same transaction" if held else error.next_step
        raise CommandError(
            await with_names(client, error.what), where=error.where, next_step=hint, code=error.code
        ) from None
    return [(key.kind, fq_name, "let go") for key, fq_name, _ in holders] + [
        (key.kind, one.fq_name or [one.uuid], "deleted") for key, one in found.items()
    ]


async def delete_by(
    client: ApiClient, resources: Sequence[Input], schema: Schema, seen: Mapping[Key, int] | None = None
) -> tuple[list[Input], list[str | None]]:
    """Delete ``resources`` (targets first, from ``read_input``) at the server of ``client``. Returns them in the order
    of deletion, with the uuid of each that existed. ``seen``: the revisions that all of them must still have; then they
    go in one transaction, and ``Stale`` is raised if one has another revision."""
    from intentc.model import InvalidInput, Key

    from .client import Change
    from .transfer import Sent, present, send

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
