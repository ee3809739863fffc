"""Reads the running compiler's quarantine, and finds in it what a user names, or every intent that can be dropped.

Why it exists: only a running compiler knows what is held, rejected or contended, so directives about that are checked
against its ``/status`` before they are stored. If none answers, a named resource is looked up like any other.

It reads the diagnostics, the API server, and revisions in etcd.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from .directives import DirectivesClient, Target, picked
from .errors import CommandError

if TYPE_CHECKING:
    from intentc.loading.configuration.sections import Diagnostics
    from intentc.model import Key

_PAGE = 300
_HELD = frozenset({"held", "suspect", "unreadable"})
"""States of intents that can be dropped; the others are states of objects, or chosen by an operator."""


class Entry(msgspec.Struct, frozen=True):
    """One entry of ``quarantine`` in ``/status``. ``name``: fq_name joined by ``:``; ``uuid``: empty if there is none
    yet; ``since``: seconds since 1970; ``tries``: failures in a row; ``next_try``: when it is
    tried again by itself, seconds since 1970; ``on``: the unreadable resource that it reads, as
    ``{"kind", "name", "uuid"}``."""

    kind: str
    name: str
    uuid: str
    state: str
    reason: str = ""
    message: str = ""
    since: float | None = None
    tries: int = 0
    next_try: float | None = None
    on: dict[str, str] | None = None

    @property
    def fq_name(self) -> tuple[str, ...]:
        return () if self.name == self.uuid else tuple(self.name.split(":"))


def entries_of(status: Mapping[str, Any]) -> list[Entry]:
    """The quarantine in a status. Raises ``CommandError`` if it can't be decoded."""
    try:
        return msgspec.convert(status.get("quarantine", []), list[Entry])
    except msgspec.ValidationError as error:
        raise CommandError(
            f"the compiler's quarantine can't be read: {error}", next_step="use the intentc of the compiler's version"
        ) from None


async def whole(where: Diagnostics, status: Mapping[str, Any]) -> list[Entry]:
    """The quarantine in ``status``, and the pages that ``status`` left out: it has the oldest entries of each sort."""
    from .waiting import asked

    entries = entries_of(status)
    total = status.get("counts", {}).get("quarantined", 0)
    if len(entries) < total:
        entries = []
    while len(entries) < total:
        page = entries_of(await asked(where, "/quarantine", {"offset": str(len(entries)), "limit": str(_PAGE)}))
        if not page:
            break
        entries += page
    return entries


async def quarantined(
    client: DirectivesClient, kind_name: str, name: str, excluded: frozenset[str], why: str
) -> Target:
    """The one quarantined resource named ``name``; if no compiler answers, any resource of that name. Raises
    ``CommandError``, with ``why`` if all its states are ``excluded``."""
    from intentc.model import Key

    from .waiting import url_of

    kind = client.kind(kind_name)
    status = await client.status()
    if status is None:
        return await client.find(kind, name)
    where = url_of(client.diagnostics, "/status")
    entries = await whole(client.diagnostics, status)
    found = picked(name, [(entry.uuid, entry.fq_name, entry) for entry in entries if entry.kind == kind.name])
    if not found:
        raise CommandError(
            f"{kind.name} {name} is not quarantined", where=where, next_step="`intentc quarantine list` shows what is"
        )
    if all(entry.state in excluded for entry in found):
        raise CommandError(f"{kind.name} {name} {why}", where=where)
    entry = found[0]
    if not entry.uuid:
        raise CommandError(
            f"{kind.name} {name} was never created, so it has no uuid that a directive could name",
            where=where,
            next_step="`intentc quarantine retry --all` tries it, too",
        )
    key = Key(entry.kind, entry.uuid)
    return Target(key, entry.fq_name, await _written_at(client, key))


async def all_held(client: DirectivesClient) -> list[Target]:
    """Every held intent that can be dropped. Raises ``CommandError`` if no compiler answers."""
    from intentc.model import Key

    from .waiting import current_status

    entries = await whole(client.diagnostics, await current_status(client.diagnostics))
    held = [entry for entry in entries if entry.state in _HELD and entry.kind in client.compiled]
    keys = [(Key(entry.kind, entry.uuid), entry.fq_name) for entry in held]
    return [Target(key, name, await _written_at(client, key)) for key, name in keys]


async def _written_at(client: DirectivesClient, key: Key) -> int:
    revision = await client.mod_revision(key)
    if not revision:
        raise CommandError(f"{key} was deleted from etcd meanwhile", next_step="run the command again")
    return revision
