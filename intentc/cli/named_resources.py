"""Finds the kind and the resource that a command names: by uuid, fq_name, a unique end of it, or its key in etcd.

Why it exists: unreadable resources must be found too, or nobody could delete or replace them; the error that says so
is made here, and so are suggestions of similar names. Each command decides what to do with the resource.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from intentc.loading.schemas import known_elsewhere
from intentc.model import Kind, Schema, escaped_segment, is_escaped, is_uuid
from intentc.model.matching import did_you_mean, meant, near, near_kinds

from .command_error import CommandError, Exit

if TYPE_CHECKING:
    from .api_client import ApiClient


async def named(client: ApiClient, kind: Kind, name: str) -> dict[str, Any]:
    """The one resource named ``name``. Raises ``CommandError`` if there is none, or several, or if its value can't be
    read."""
    found = await look_up(client, kind, name)
    if found.data is None:
        raise unreadable(kind, found, client.url)
    return found.data


def kind_named(schema: Schema, name: str) -> Kind:
    """The kind named ``name``, in any spelling. Raises ``CommandError`` with suggestions."""
    found = schema.spelt(name, plural=True)
    if found is None:
        hint = known_elsewhere(name) or did_you_mean(near_kinds(name, schema.kinds))
        raise CommandError(f"unknown kind {name!r}{hint}", next_step="`intentc get` lists the kinds")
    return found


def kinds_named(schema: Schema, names: Sequence[str]) -> list[Kind]:
    """The stored kinds among ``names``, in any spelling; all of them if it is empty."""
    kinds = [kind_named(schema, name) for name in names] or sorted(schema, key=lambda kind: kind.name)
    return [kind for kind in kinds if kind.stored]


def reject_kind_as_file(given: Sequence[str], schema: Schema, command: str) -> None:
    """Raise ``CommandError`` if the first of ``given`` is a kind and no file, with the command that was probably meant.
    ``command``: its beginning."""
    first = given[0] if given else ""
    kind = None if not first or Path(first).exists() else schema.spelt(first, plural=True)
    if kind is not None:
        names = shlex.join(given[1:]) or "NAME"
        raise CommandError(
            f"there is no file {first}; it is a kind",
            where=command,
            next_step=f"did you mean `{command} --kind {first} {names}`?",
            code=Exit.USAGE,
        )


class Meant(NamedTuple):
    """A resource at the server. ``uuid``: the last part of its key in etcd; ``fq_name``: empty if unknown; ``data``:
    None if the value can't be read, then ``reason`` says why."""

    uuid: str
    fq_name: list[str]
    data: dict[str, Any] | None
    reason: str = ""

    @property
    def shown(self) -> str:
        """Its name for people."""
        return ":".join(self.fq_name) or self.uuid


async def look_up(client: ApiClient, kind: Kind, name: str) -> Meant:
    """The one resource named ``name``, readable or not. Raises ``CommandError`` if there is none, or several."""
    uuid = _uuid_in(kind, name)
    found = await read(client, kind, uuid) if uuid else None
    if found is None:
        uuid = await client.identify(kind, name.split(":")) or ""
        found = await read(client, kind, uuid) if uuid else None
    return found or _one_of(await _all(client, kind), client, kind, name)


async def read(client: ApiClient, kind: Kind, uuid: str) -> Meant | None:
    """The resource with this uuid, None if there is none."""
    from .api_client import Rejected

    try:
        data = await client.get(kind, uuid)
    except Rejected as error:
        if error.status != HTTPStatus.UNPROCESSABLE_ENTITY:
            raise
        return Meant(uuid, await client.fq_name_of(uuid), None, error.what.partition("; ")[0])
    return None if data is None else Meant(uuid, data.get("fq_name", []), data)


def unreadable(kind: Kind, meant: Meant, where: str) -> CommandError:
    """The error for a command that needs the value of an unreadable resource."""
    return CommandError(f"{kind.name} {meant.shown}: {meant.reason}", where=where, next_step=remedy(kind, meant.uuid))


def remedy(kind: Kind, uuid: str) -> str:
    """The commands that replace or delete an unreadable resource. Only a key that ends in a uuid can be replaced."""
    replace = "replace it with `intentc apply FILE`, or " if is_uuid(uuid) else ""
    return f"{replace}delete it with `intentc delete --kind {kind.name} {uuid}`"


async def _all(client: ApiClient, kind: Kind) -> list[Meant]:
    readable, others = await client.listed(kind)
    return [Meant(data["uuid"], data.get("fq_name", []), data) for data in readable] + [
        Meant(one.uuid, one.fq_name, None, one.message) for one in others
    ]


def _uuid_in(kind: Kind, name: str) -> str:
    """The uuid in ``name``, or the last part of its key in etcd if that is not a uuid; empty if ``name`` is a name."""
    if name.startswith("/"):
        return escaped_segment(name.partition(f"/{kind.name}/")[2])
    escaped = name if name.isascii() and name.isprintable() else escaped_segment(name)
    return escaped if is_uuid(name) or (is_escaped(escaped) and "/" not in escaped) else ""


def _one_of(listed: list[Meant], client: ApiClient, kind: Kind, name: str) -> Meant:
    match meant(name, listed, lambda one: (one.uuid, ":".join(one.fq_name))):
        case [only]:
            return only
        case []:
            names = near(name, [":".join(one.fq_name) for one in listed if one.fq_name])
            guess = f"did you mean {' or '.join(names)}? " if names else ""
            raise CommandError(
                f"there is no {kind.name} named {name}",
                where=client.url,
                next_step=f"{guess}`intentc get {kind.name}` lists all",
            )
        case several:
            raise CommandError(
                f"{name} fits several: {', '.join(one.shown for one in several)}",
                where=client.url,
                next_step="give more of the name, or the uuid",
                code=Exit.USAGE,
            )
