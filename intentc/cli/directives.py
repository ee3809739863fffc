"""What the commands of operators share: it finds a directive's target, signs it, and waits until a compiler applied it.

Why it exists: ``pause``, ``resume``, ``allow-deletes`` and ``quarantine`` store different directives and share the
rest. A directive is a key in etcd, so it can be stored while no compiler runs; the next one applies it.

It reads names from the API server, revisions and directives from etcd, status from diagnostics, and for signatures the
clock, user and host; the commands write through ``book``. State: the connection to etcd.
"""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, TypeVar

import anyio
import click

from .errors import CommandError, Exit

if TYPE_CHECKING:
    from intentc.directives import Book
    from intentc.loading.configuration import Configuration
    from intentc.model import Key, Kind
    from intentc.watch.protocol import Store

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Candidate = TypeVar("_Candidate")


def waiting_options(function: _Function) -> _Function:
    """Add ``--wait/--no-wait`` and ``--timeout`` to a command, as ``wait`` and ``timeout`` (seconds)."""
    timeout = click.option("--timeout", type=float, default=30.0, show_default=True, help="Maximum seconds to wait.")
    wait = click.option(
        "--wait/--no-wait", default=True, show_default=True, help="Wait until a compiler has applied the directive."
    )
    return wait(timeout(function))


class Target(NamedTuple):
    """The resource of a directive. ``mod_revision``: the revision of its last write."""

    key: Key
    name: tuple[str, ...]
    mod_revision: int


class DirectivesClient:
    """Stores directives in etcd. ``book``: the directives of the configured installation. Calls raise ``CommandError``
    and ``Failure``."""

    def __init__(self, configuration: Configuration, store: Store) -> None:
        from intentc.directives import Book
        from intentc.plugins import installed
        from intentc.watch.keys import Layout

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
        from .naming import kind_named

        return kind_named(self._schema, name)

    async def find(self, kind: Kind, name: str) -> Target:
        """The resource named ``name``. A uuid finds it even if its value can't be read."""
        import msgspec

        from intentc.model import Key
        from intentc.writing.connection import Connection

        from .client import ApiClient
        from .connecting import api_server
        from .naming import is_uuid, named

        key = Key(kind.name, name)
        revision = await self.mod_revision(key) if is_uuid(name) else 0
        fq_name: tuple[str, ...] = ()
        try:
            async with ApiClient(Connection(api_server(self._configuration))) as client:
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
        from .waiting import current_status

        try:
            return await current_status(self.diagnostics)
        except CommandError as error:
            if error.code is not Exit.UNREACHABLE:
                raise
            return None

    async def obeyed(self, revision: int, timeout: float | None) -> dict[str, Any] | None:
        """Wait until the running compiler has applied the directives up to ``revision``, and return its status. None if
        ``timeout`` is None, or if no compiler answers, which a line on stderr says."""
        from .waiting import url_of, wait_for

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
    from .connecting import etcd_store

    store = etcd_store(configuration)
    try:
        yield DirectivesClient(configuration, store)
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


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
    known = list(candidates)
    # Joined, since an element may hold a colon itself.
    fitting = [one for one in known if name in (one[0], ":".join(one[1]))]
    fitting = fitting or [one for one in known if ":".join(one[1]).endswith(f":{name}")]
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
