"""Finds the kind and the resource that a command names: by uuid, fq_name, a unique end of it, or its key in etcd.

Why it exists: unreadable resources must be found too, or nobody could delete or replace them; the error that says so
is made here, and so are suggestions of similar names. Each command decides what to do with the resource.
"""

from __future__ import annotations

import difflib
import shlex
import uuid as uuid_module
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .command_error import CommandError, Exit

if TYPE_CHECKING:
    from intentc.model import Kind, Schema

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
    from intentc.loading.schemas import known_elsewhere
    from intentc.model import snake

    found = schema.spelt(name, plural=True)
    if found is None:
        near = near_kinds(snake(name).lower(), schema.kinds)
        hint = known_elsewhere(name) or (f"; did you mean {' or '.join(near)}?" if near else "")
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


def near_kinds(name: str, kinds: Iterable[str]) -> list[str]:
    """At most three kinds that resemble ``name``: with these initials (``acl``), else of similar spelling, else with
    this text inside (``list``)."""
    known = sorted(kinds)
    initials = [
        kind for kind in known if "".join(word[:1] for word in kind.split("_")) in (name, name.removesuffix("s"))
    ]
    inside = [kind for kind in known if name in kind]
    return (initials or difflib.get_close_matches(name, known, 3) or inside)[:3]


def is_uuid(text: str) -> bool:
    """Whether a text has the form of a uuid."""
    try:
        uuid_module.UUID(text)
    except ValueError:
        return False
    return True


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
