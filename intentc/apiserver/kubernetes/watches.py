"""Watches of Kubernetes clients: events of the resources that a client selects and may read, from a revision on.

Why it exists: ``kubectl get -w``, ``kubectl wait`` and every informer follow a list by a watch. Without a revision
everything is listed first, as events. The resource version is etcd's revision, so any API server over the same etcd can
continue a client's watch. A resource that is no longer selected is deleted for this client.

One transaction of intentc may write many resources at one revision. A client that was cut off between two of its events
continues from that revision, so a watch from a revision with several events delivers these again; clients take an event
twice. The state before an event, which a deletion shows and a selector needs, is read from etcd at the revision before.

A watch lasts as long as its client likes, and takes two file descriptors: the client's connection, and a connection to
etcd. So ``Places`` limits how many one server carries at once; ``serving`` derives the total from the process's limit
of open files, and half of the connections stay free for calls that end. An ``EventStream`` sends one JSON object a
line; an error is the last line, of type ``ERROR``.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

import anyio
import msgspec
from anyio.lowlevel import checkpoint
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from intentc.reconcile.failures import Failure
from intentc.watch.protocol import Compacted, FutureRevision, KeyValue, WatchBatch, WatchEvent, WatchProgress

from ..authorization import Caller, Operation
from ..documents import Document, decode
from ..errors import ApiError, Malformed, TooManyRequests, from_store
from ..permissions import Access
from ..threads import Threads
from . import tables
from .catalog import Offered
from .lists import find, is_shown, selects
from .options import ListOptions, WatchOptions
from .shown import Manifest, manifest
from .status_errors import Expired, failure

MOST = 512
"""Watches of a server, if the process may open enough files."""
_SHARE_OF_USER, _SHARE_OF_ADDRESS, _SHARE_OF_RESERVE = 4, 2, 8


class Places:
    """Places for ``most`` watches: a quarter for each user, half for each address, an eighth for administrators
    alone."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._users = Counter[str]()
        self._addresses = Counter[str]()
        self._open = 0
        # A call may be carried out in a thread.
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._open

    def take(self, caller: Caller, address: str, *, is_administrator: bool) -> Callable[[], None]:
        """Take a place, and return what gives it back. ``address``: the network that counts as one client.

        Raises ``TooManyRequests``. Without users (``no_auth``) only addresses and the total are limited.
        """
        user = caller.user_id
        most_of_all = self._most if is_administrator else self._most - self._most // _SHARE_OF_RESERVE
        with self._lock:
            for there, most, owner in (
                (self._users[user] if user else 0, self._most // _SHARE_OF_USER, f"the user {user}"),
                (self._addresses[address], self._most // _SHARE_OF_ADDRESS, f"the address {address}"),
                (self._open, most_of_all, "all clients"),
            ):
                if there >= most:
                    raise TooManyRequests(
                        f"{there} watches of {owner} are open, and {most} are the most; end some, or watch all "
                        "namespaces of a kind by one"
                    )
            self._count(user, address, 1)
        return partial(self._give_back, user, address)

    def _give_back(self, user: str, address: str) -> None:
        with self._lock:
            self._count(user, address, -1)

    def _count(self, user: str, address: str, change: int) -> None:
        self._open += change
        for counter, key in ((self._users, user), (self._addresses, address)):
            counter[key] += change
            if not counter[key]:
                del counter[key]


ADDED, MODIFIED, DELETED, BOOKMARK = "ADDED", "MODIFIED", "DELETED", "BOOKMARK"
INITIAL_END = "k8s.io/initial-events-end"


class Event(NamedTuple):
    """``manifest``: the resource after the event; before it, if it was deleted; of a bookmark only a version."""

    type: str
    manifest: Manifest


class Watching:
    """One client's watch of one kind. ``namespace``: empty for all."""

    def __init__(
        self, threads: Threads, offered: Offered, namespace: str, options: WatchOptions, caller: Caller
    ) -> None:
        self.offered = offered
        self.options = options
        self.server = threads.server
        self._threads = threads
        self._namespace = namespace
        self._caller = caller
        self._position = 0
        self._layout = self.server.layout
        self._prefix = self._layout.values(offered.kind.name)

    def bookmark(self) -> Event | None:
        """A bookmark of what the client has got, if it wants bookmarks and has got everything from the beginning."""
        return self._bookmark(self._position) if self.options.bookmarks and self._position else None

    async def events(self) -> AsyncGenerator[Event]:
        """Everything from the wanted revision on. Raises ``Expired`` if that is compacted, before the first event or
        later; other errors of the store end it."""
        revision, is_resumed = self.options.revision, True
        if revision is None:
            selected = ListOptions(self.options.selector)
            listed = await self._threads.call(
                lambda server: find(server, self.offered, self._namespace, selected, self._caller)
            )
            for one in listed.items:
                # Sending waits only for a slow client.
                await checkpoint()
                yield Event(ADDED, one)
            revision, is_resumed = listed.revision, False
            if self.options.marks_initial:
                yield self._bookmark(revision, is_initial=True)
        async with aclosing(self._after(revision, is_resumed)) as following:
            async for event in following:
                yield event

    async def _after(self, revision: int, is_resumed: bool) -> AsyncGenerator[Event]:
        # The revision itself is watched, too, and left out unless it has several events.
        await self._check(revision)
        self._position = revision
        try:
            async with self.server.store.watch([self._prefix], revision) as watch:
                async for batch in watch:
                    if isinstance(batch, WatchProgress):
                        self._position = max(self._position, batch.revision)
                        continue
                    if batch.revision == revision and not (is_resumed and len(batch.events) > 1):
                        continue
                    async for event in self._of_batch(batch):
                        yield event
                    self._position = batch.revision
        except Compacted:
            raise _expired(revision) from None
        except Failure as error:
            raise from_store(error, writing=False) from error

    async def _check(self, revision: int) -> None:
        """Raise ``Expired`` if the revision is compacted, or does not exist: the store is another one."""
        try:
            await self.server.store.range(self._prefix, limit=1, revision=revision)
        except (Compacted, FutureRevision):
            raise _expired(revision) from None
        except Failure as error:
            raise from_store(error, writing=False) from error

    async def _of_batch(self, batch: WatchBatch) -> AsyncGenerator[Event]:
        draft = self.server.draft()
        access = await self.server.permissions.access(draft, self._caller)
        access.rule(self.offered.kind, Operation.READ)
        for event in batch.events:
            shown = await self._shown(event, access)
            if shown is not None:
                yield shown

    async def _shown(self, event: WatchEvent, access: Access) -> Event | None:
        now = None if event.deleted else await self._visible(event.item, access)
        is_new = not event.deleted and event.item.create_revision == event.item.mod_revision
        may_have_been = event.deleted or (not is_new and (now is None or bool(self.options.selector)))
        before = await self._before(event.item, access) if may_have_been else None
        if now is not None:
            is_added = is_new or (may_have_been and before is None)
            return Event(ADDED if is_added else MODIFIED, await self._manifest(now, event.item))
        return Event(DELETED, await self._manifest(before, event.item)) if before is not None else None

    async def _manifest(self, document: Document, item: KeyValue) -> Manifest:
        return await self._threads.run(len(item.value), manifest, self.offered, document, item.mod_revision)

    async def _before(self, item: KeyValue, access: Access) -> Document | None:
        """The resource before an event, if the client saw it."""
        found = await self.server.store.range(item.key, revision=item.mod_revision - 1)
        return await self._visible(found.items[0], access) if found.items else None

    async def _visible(self, item: KeyValue, access: Access) -> Document | None:
        try:
            document = decode(self.offered.kind, item.value, item.key, self._layout.uuid(item.key))
        except Malformed:
            return None
        if not is_shown(document, self.offered, self._namespace, access):
            return None
        size = len(item.value) if self.options.selector else 0
        is_selected = await self._threads.run(size, selects, self.options.selector, document, self.offered)
        return document if is_selected else None

    def _bookmark(self, revision: int, *, is_initial: bool = False) -> Event:
        metadata: dict[str, Any] = {"resourceVersion": str(revision), "creationTimestamp": None}
        if is_initial:
            metadata["annotations"] = {INITIAL_END: "true"}
        return Event(
            BOOKMARK, {"kind": self.offered.name, "apiVersion": self.offered.api_version, "metadata": metadata}
        )


def _expired(revision: int) -> Expired:
    return Expired(f"too old resource version: {revision}; list again")


BETWEEN_BOOKMARKS = 30.0
"""Seconds; a kube-apiserver sends one each minute, and clients take a silent watch for dead."""
_LONGEST = 3600
"""Seconds that a watch lasts at most, and if the client does not say."""


class EventStream(Response):
    """Streams the events of ``watching``. ``ended``: called once, at the end. ``version``: of the tables in which
    resources are shown, empty for resources. ``included``: what a table's row carries."""

    media_type = "application/json"

    def __init__(self, watching: Watching, ended: Callable[[], None], version: str, included: str) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers({"Cache-Control": "no-cache, private"})
        self._watching = watching
        self._ended = ended
        self._version = version
        self._included = included
        self._has_headings = False
        self._has_ended = False
        self._sending = anyio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._stream(receive, send)
        finally:
            self._ended()

    async def _stream(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_disconnected, receive, tasks.cancel_scope)
            tasks.start_soon(self._send_bookmarks, send)
            with anyio.move_on_after(min(self._watching.options.seconds or _LONGEST, _LONGEST)) as lasting:
                tasks.start_soon(_until_ending, self._watching.server.is_ending, lasting)
                async with aclosing(self._lines()) as lines:
                    async for line in lines:
                        await self._send(send, line)
            self._has_ended = True
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            tasks.cancel_scope.cancel()

    async def _send(self, send: Send, line: bytes) -> None:
        async with self._sending:
            if not self._has_ended:
                await send({"type": "http.response.body", "body": line, "more_body": True})

    async def _send_bookmarks(self, send: Send) -> None:
        while True:
            await anyio.sleep(BETWEEN_BOOKMARKS)
            bookmark = self._watching.bookmark()
            if bookmark is not None:
                await self._send(send, _line(bookmark.type, self._shown(bookmark)))

    async def _lines(self) -> AsyncGenerator[bytes]:
        try:
            async with aclosing(self._watching.events()) as events:
                async for event in events:
                    yield _line(event.type, self._shown(event))
        except ApiError as error:
            yield _line("ERROR", failure(error)[1])

    def _shown(self, event: Event) -> dict[str, Any]:
        if not self._version:
            return event.manifest
        metadata = {"resourceVersion": event.manifest["metadata"]["resourceVersion"]}
        has_headings, self._has_headings = self._has_headings, True
        return tables.table(
            self._watching.offered,
            [] if event.type == BOOKMARK else [event.manifest],
            datetime.now(UTC),
            version=self._version,
            included=self._included,
            metadata=metadata,
            headings=not has_headings,
        )


def _line(event: str, shown: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"type": event, "object": shown}) + b"\n"


async def _disconnected(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _until_ending(is_ending: anyio.Event, scope: anyio.CancelScope) -> None:
    await is_ending.wait()
    scope.cancel()
