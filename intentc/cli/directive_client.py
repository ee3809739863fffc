"""What the commands of operators share: a directive's target, its signature, and waiting until a compiler applied it.

Why it exists: ``pause``, ``resume``, ``allow-deletes`` and ``quarantine`` store different directives and share the
rest. A directive is a key in etcd, so it can be stored while no compiler runs; the next one applies it. What is
quarantined is read from the running compiler; ``verdict`` derives from it the exit code of ``apply`` and ``delete``: a
large system always has something held, and a user who applies an unrelated file must not see that as an error.
"""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypedDict, TypeVar

import click
import msgspec

from intentc.directives import Book
from intentc.loading.configuration import Configuration
from intentc.loading.configuration.sections import Diagnostics
from intentc.model import Key, Kind, is_uuid
from intentc.model.matching import meant
from intentc.watch.keys import Layout
from intentc.watch.protocol import Store

from .command_error import CommandError, Exit
from .command_options import waiting_options
from .connecting import open_store
from .diagnostics_client import asked, current_status, url_of, wait_for
from .named_resources import kind_named, named

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Candidate = TypeVar("_Candidate")


waits_for_directive = waiting_options("Wait until a compiler has applied the directive.", 30.0, flag="--wait/--no-wait")


class Target(NamedTuple):
    """The resource of a directive. ``mod_revision``: the revision of its last write."""

    key: Key
    name: tuple[str, ...]
    mod_revision: int


class DirectivesClient:
    """Stores directives in etcd. ``book``: the directives of the configured installation. Calls raise ``CommandError``
    and ``Failure``."""

    def __init__(self, configuration: Configuration, store: Store) -> None:
        from intentc.plugins import installed

        self._configuration = configuration
        self._store = store
        self._layout = Layout.of(f"/{configuration.etcd.path}/")
        loaded = installed(configuration)
        self._schema = loaded.schema
        self.compiled = frozenset(loaded.intents)
        """The kinds that have intents."""
        self.diagnostics = configuration.intentc.diagnostics
        self.address = configuration.intentc.diagnostics.address
        self.book: Book = Book(store, configuration.intentc.installation)

    def kind(self, name: str) -> Kind:
        """A kind in any spelling."""
        return kind_named(self._schema, name)

    async def find(self, kind: Kind, name: str) -> Target:
        """The resource named ``name``. A uuid finds it even if its value can't be read."""

        from .api_client import api_client

        key = Key(kind.name, name)
        revision = await self.mod_revision(key) if is_uuid(name) else 0
        fq_name: tuple[str, ...] = ()
        try:
            async with api_client(self._configuration) as client:
                data = await named(client, kind, name)
                key, fq_name = Key(kind.name, data["uuid"]), msgspec.convert(data["fq_name"], tuple[str, ...])
        except CommandError as error:
            if not revision or error.code is Exit.UNREACHABLE:
                raise
        return Target(key, fq_name, revision or await self.mod_revision(key))

    async def mod_revision(self, key: Key) -> int:
        """The revision of a resource's last write; 0 if it does not exist."""
        items = (await self._store.range(self._layout.key(*key), keys_only=True)).items
        return items[0].mod_revision if items else 0

    async def status(self) -> dict[str, Any] | None:
        """The compiler's status; None if no compiler answers."""
        try:
            return await current_status(self.diagnostics)
        except CommandError as error:
            if error.code is not Exit.UNREACHABLE:
                raise
            return None

    async def obeyed(self, revision: int, timeout: float | None) -> dict[str, Any] | None:
        """Wait until the running compiler has applied the directives up to ``revision``, and return its status. None if
        ``timeout`` is None, or if no compiler answers, which a line on stderr says."""
        if timeout is None:
            return None
        try:
            status, obeyed = await wait_for(self.diagnostics, lambda status: _obeyed(status, revision), timeout)
        except CommandError as error:
            if error.code is not Exit.UNREACHABLE:
                raise
            click.echo(
                f"no compiler answers at {self.address}; the directive is stored, and takes effect when one runs",
                err=True,
            )
            return None
        if not obeyed:
            raise CommandError(
                f"the directive is stored, but the compiler has not applied it after {timeout:g} s",
                where=url_of(self.diagnostics, "/status"),
                next_step="check its installation and its watch there",
                code=Exit.UNREACHABLE,
            )
        return status


@asynccontextmanager
async def directives_client(configuration: Configuration) -> AsyncIterator[DirectivesClient]:
    """A client with a connection to etcd that is closed after the block."""
    async with open_store(configuration) as store:
        yield DirectivesClient(configuration, store)


class Signature(TypedDict):
    """The fields of every directive that inform people."""

    by: str
    at: str
    reason: str


def signature(reason: str = "") -> Signature:
    """Who stores a directive, when and why."""
    who = os.environ.get("USER") or os.environ.get("LOGNAME") or str(os.getuid())
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {"by": f"{who}@{socket.gethostname()}", "at": now, "reason": reason}


def picked(name: str, candidates: Iterable[tuple[str, tuple[str, ...], _Candidate]]) -> list[_Candidate]:
    """The ``candidates`` (uuid, fq_name, value) that match ``name``: a uuid, a whole fq_name, or else the end of one.
    Raises ``CommandError`` if several names match."""
    fitting = meant(name, candidates, lambda one: (one[0], ":".join(one[1])))
    names = {uuid or fq_name: shown(uuid, fq_name) for uuid, fq_name, _ in fitting}
    if len(names) > 1:
        raise CommandError(
            f"{name} fits several: {', '.join(names.values())}",
            next_step="give more of the name, or the uuid",
            code=Exit.USAGE,
        )
    return [wanted for _, _, wanted in fitting]


def shown(uuid: str, fq_name: Iterable[str]) -> str:
    """The name of a resource for people: its fq_name if known, else its uuid."""
    return ":".join(fq_name) or uuid


def _obeyed(status: dict[str, Any], revision: int) -> bool:
    directives = status.get("directives") or {}
    return bool(directives.get("applied_revision", 0) >= revision)


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
    entries = await whole(client.diagnostics, await current_status(client.diagnostics))
    held = [entry for entry in entries if entry.state in _HELD and entry.kind in client.compiled]
    keys = [(Key(entry.kind, entry.uuid), entry.fq_name) for entry in held]
    return [Target(key, name, await _written_at(client, key)) for key, name in keys]


async def _written_at(client: DirectivesClient, key: Key) -> int:
    revision = await client.mod_revision(key)
    if not revision:
        raise CommandError(f"{key} was deleted from etcd meanwhile", next_step="run the command again")
    return revision


Named = tuple[str, str]
"""Kind, and fq_name joined by ``:``."""
_NO_CONSEQUENCE = frozenset({"dropped"})
"""States that an operator chose."""
_ASKED = 200
"""Entries that the running compiler is asked about, the latest first; what is named by itself is found among all."""


async def verdict(where: Diagnostics, status: Mapping[str, Any], about: Collection[Named]) -> int:
    """The exit code after ``about`` was applied or deleted: ``HELD`` if something that follows from it is not done,
    which is listed on stderr. Withheld deletions always count, since their cause is unknown."""
    entries = [entry for entry in await whole(where, status) if entry.state not in _NO_CONSEQUENCE]
    stuck = []
    for place, entry in enumerate(sorted(entries, key=lambda entry: -(entry.since or 0.0))):
        is_certain = entry.state == "withheld" or _is_about(entry, about)
        if is_certain or (place < _ASKED and await _follows(where, entry, about)):
            stuck.append(f"{entry.state}: {entry.kind} {entry.name or entry.uuid}: {entry.message}")
    if status.get("observing") and status.get("planned"):
        stuck.append(f"the compiler observes, and has not made {len(status['planned'])} writes")
    for line in stuck:
        click.echo(line, err=True)
    return Exit.HELD if stuck else Exit.DONE


def _is_about(entry: Entry, about: Collection[Named]) -> bool:
    named = {(entry.kind, entry.name), *([(entry.on["kind"], entry.on["name"])] if entry.on else [])}
    return not named.isdisjoint(about)


async def _follows(where: Diagnostics, entry: Entry, about: Collection[Named]) -> bool:
    """Whether an object exists because of one of ``about``, or an intent last ran because one of them changed."""
    try:
        answer = await asked(where, "/why", {"kind": entry.kind, "name": entry.name or entry.uuid})
    except CommandError as error:
        if error.code is Exit.UNREACHABLE:
            raise
        return False
    paths = [evaluation["path"] or () for evaluation in answer.get("evaluations", ())]
    behind = [*answer.get("owners", ()), *(one for path in paths for one in path[:1])]
    return any((one["kind"], one["name"]) in about for one in behind)
