"""Watches of the Kubernetes face: events of the resources that a client selects and may read, from a revision on.

Why it exists: ``kubectl get -w``, ``kubectl wait`` and every informer follow a list by a watch. Without a revision
everything is listed first, as events. The resource version is etcd's revision, so any API server over the same etcd can
continue a client's watch. A resource that is no longer selected is deleted for this client. ``streams`` sends the
events.

One transaction of intentc may write many resources at one revision. A client that was cut off between two of its events
continues from that revision, so a watch from a revision with several events delivers these again; clients take an event
twice. The state before an event, which a deletion shows and a selector needs, is read from etcd at the revision before.

State: how far the client has come.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, NamedTuple

from anyio.lowlevel import checkpoint

from intentc.watch.protocol import (
    Compacted,
    FutureRevision,
    KeyValue,
    StoreError,
    WatchBatch,
    WatchEvent,
    WatchProgress,
)

from ..authorization import Caller, Operation
from ..documents import Document, decode
from ..errors import Malformed, from_store
from ..permissions import Access
from ..threads import Threads
from .catalog import Offered
from .failures import Expired
from .lists import find, is_shown, selects
from .options import ListOptions, WatchOptions
from .shown import Manifest, manifest

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
        self._threads = threads
        self._server = threads.server
        self._offered = offered
        self._namespace = namespace
        self._options = options
        self._caller = caller
        self._position = 0
        self._layout = self._server.draft().layout
        self._prefix = self._layout.values(offered.kind.name)

    def bookmark(self) -> Event | None:
        """A bookmark of what the client has got, if it wants bookmarks and has got everything from the beginning."""
        return self._bookmark(self._position) if self._options.bookmarks and self._position else None

    async def events(self) -> AsyncGenerator[Event]:
        """Everything from the wanted revision on. Raises ``Expired`` if that is compacted, before the first event or
        later; other errors of the store end it."""
        revision, is_resumed = self._options.revision, True
        if revision is None:
            selected = ListOptions(self._options.selector)
            listed = await self._threads.call(
                lambda server: find(server, self._offered, self._namespace, selected, self._caller)
            )
            for one in listed.items:
                # Sending waits only for a slow client.
                await checkpoint()
                yield Event(ADDED, one)
            revision, is_resumed = listed.revision, False
            if self._options.marks_initial:
                yield self._bookmark(revision, is_initial=True)
        async with aclosing(self._after(revision, is_resumed)) as following:
            async for event in following:
                yield event

    async def _after(self, revision: int, is_resumed: bool) -> AsyncGenerator[Event]:
        # The revision itself is watched, too, and left out unless it has several events.
        await self._check(revision)
        self._position = revision
        try:
            async with self._server.store.watch([self._prefix], revision) as watch:
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
        except StoreError as error:
            raise from_store(error, writing=False) from error

    async def _check(self, revision: int) -> None:
        """Raise ``Expired`` if the revision is compacted, or does not exist: the store is another one."""
        try:
            await self._server.store.range(self._prefix, limit=1, revision=revision)
        except (Compacted, FutureRevision):
            raise _expired(revision) from None
        except StoreError as error:
            raise from_store(error, writing=False) from error

    async def _of_batch(self, batch: WatchBatch) -> AsyncGenerator[Event]:
        draft = self._server.draft()
        access = await self._server.permissions.access(draft, self._caller)
        access.rule(self._offered.kind, Operation.READ)
        for event in batch.events:
            shown = await self._shown(event, access)
            if shown is not None:
                yield shown

    async def _shown(self, event: WatchEvent, access: Access) -> Event | None:
        now = None if event.deleted else await self._visible(event.item, access)
        is_new = not event.deleted and event.item.create_revision == event.item.mod_revision
        may_have_been = event.deleted or (not is_new and (now is None or bool(self._options.selector)))
        before = await self._before(event.item, access) if may_have_been else None
        if now is not None:
            is_added = is_new or (may_have_been and before is None)
            return Event(ADDED if is_added else MODIFIED, await self._manifest(now, event.item))
        return Event(DELETED, await self._manifest(before, event.item)) if before is not None else None

    async def _manifest(self, document: Document, item: KeyValue) -> Manifest:
        return await self._threads.run(len(item.value), manifest, self._offered, document, item.mod_revision)

    async def _before(self, item: KeyValue, access: Access) -> Document | None:
        """The resource before an event, if the client saw it."""
        found = await self._server.store.range(item.key, revision=item.mod_revision - 1)
        return await self._visible(found.items[0], access) if found.items else None

    async def _visible(self, item: KeyValue, access: Access) -> Document | None:
        try:
            document = decode(self._offered.kind, item.value, item.key, self._layout.uuid(item.key))
        except Malformed:
            return None
        if not is_shown(document, self._offered, self._namespace, access):
            return None
        size = len(item.value) if self._options.selector else 0
        is_selected = await self._threads.run(size, selects, self._options.selector, document, self._offered)
        return document if is_selected else None

    def _bookmark(self, revision: int, *, is_initial: bool = False) -> Event:
        metadata: dict[str, Any] = {"resourceVersion": str(revision), "creationTimestamp": None}
        if is_initial:
            metadata["annotations"] = {INITIAL_END: "true"}
        return Event(
            BOOKMARK, {"kind": self._offered.name, "apiVersion": self._offered.api_version, "metadata": metadata}
        )


def _expired(revision: int) -> Expired:
    return Expired(f"too old resource version: {revision}; list again")
