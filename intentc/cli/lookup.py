"""Finds a resource at the API server by uuid, fq_name, a unique end of it, or its key in etcd.

Why it exists: unreadable resources must be found too, or nobody could delete or replace them; the error that says so is
made here. Each command decides what to do with the resource. ``naming`` is for commands that need a readable one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import CommandError, Exit

if TYPE_CHECKING:
    from intentc.model import Kind

    from .client import ApiClient

_NEAR_NAMES = 5
_COMPARED = 2_000
"""Names whose spelling is compared, those of about the same length first."""


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
    from .client import Rejected

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
    from intentc.model import is_uuid

    replace = "replace it with `intentc apply FILE`, or " if is_uuid(uuid) else ""
    return f"{replace}delete it with `intentc delete --kind {kind.name} {uuid}`"


async def _all(client: ApiClient, kind: Kind) -> list[Meant]:
    readable, others = await client.listed(kind)
    return [Meant(data["uuid"], data.get("fq_name", []), data) for data in readable] + [
        Meant(one.uuid, one.fq_name, None, one.message) for one in others
    ]


def _uuid_in(kind: Kind, name: str) -> str:
    """The uuid in ``name``, or the last part of its key in etcd if that is not a uuid; empty if ``name`` is a name."""
    from intentc.model import escaped_segment, is_escaped, is_uuid

    if name.startswith("/"):
        return escaped_segment(name.partition(f"/{kind.name}/")[2])
    escaped = name if name.isascii() and name.isprintable() else escaped_segment(name)
    return escaped if is_uuid(name) or (is_escaped(escaped) and "/" not in escaped) else ""


def _one_of(listed: list[Meant], client: ApiClient, kind: Kind, name: str) -> Meant:
    # Joined, since an element may hold a colon itself.
    fitting = [one for one in listed if name in (one.uuid, ":".join(one.fq_name))]
    fitting = fitting or [one for one in listed if ":".join(one.fq_name).endswith(f":{name}")]
    match fitting:
        case [only]:
            return only
        case []:
            near = near_names(name, (":".join(one.fq_name) for one in listed if one.fq_name))
            guess = f"did you mean {' or '.join(near)}? " if near else ""
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


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """At most five fq_names (joined by ``:``) that resemble ``name``: those that contain it, else those whose last
    element has a similar spelling."""
    names = sorted(set(known))
    last = name.rpartition(":")[2]
    if holding := [one for one in names if name in one]:
        return holding[:_NEAR_NAMES]
    by_last: dict[str, list[str]] = {}
    for one in sorted(names, key=lambda one: abs(len(one) - len(name)))[:_COMPARED]:
        by_last.setdefault(one.rpartition(":")[2], []).append(one)
    near = [one for each in difflib.get_close_matches(last, by_last, _NEAR_NAMES) for one in by_last[each]]
    return near[:_NEAR_NAMES]
