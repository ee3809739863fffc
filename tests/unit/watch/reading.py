"""A reader that takes items from a source one at a time, and shorthands for what it reads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from intentc.model.events import Batch, Correction, Snapshot
from intentc.reconcile.backoff import Backoff, Retries
from intentc.watch.heartbeat import Heartbeat
from intentc.watch.listing import PageLimits
from intentc.watch.protocol import Delete, Operation, Put
from intentc.watch.source import Source
from tests.support.faulty_store import FaultyStore
from tests.support.waiting import PATIENCE

PREFIX = "/contrail/"


class Reader:
    """Takes items of a source and keeps the view that follows from them, as the cache does.

    It keeps no keys of the kind ``unheard_of``.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.view: dict[tuple[str, str], int] = {}
        self._events = source.events()

    async def next(self) -> Snapshot | Batch:
        with anyio.fail_after(PATIENCE):
            item = await anext(self._events)
        if isinstance(item, Snapshot):
            self.view.clear()
        self.apply(item)
        return item

    async def nothing_comes(self) -> bool:
        """True if no item comes while everything that can run has run. The reader is of no use afterwards."""
        with anyio.move_on_after(0.05):
            await anext(self._events)
            return False
        return True

    def apply(self, item: Snapshot | Batch | Correction) -> None:
        for change in item.changes:
            if not self.keeps(change.kind):
                continue
            if change.value is None:
                self.view.pop((change.kind, change.uuid), None)
            else:
                self.view[change.kind, change.uuid] = change.mod_revision

    def keys(self) -> list[tuple[str, str]]:
        return list(self.view)

    def keeps(self, kind: str) -> bool:
        return kind != "unheard_of"

    def mod_revision(self, kind: str, uuid: str) -> int:
        return self.view.get((kind, uuid), 0)

    async def close(self) -> None:
        await self._events.aclose()


@asynccontextmanager
async def reading(
    store: FaultyStore,
    *,
    pages: PageLimits | None = None,
    gap_limit: int = 3_000,
    heartbeat: Heartbeat | None = None,
) -> AsyncIterator[Reader]:
    """A reader of a source over ``store`` that hardly waits between attempts."""
    source = Source(
        store,
        PREFIX,
        heartbeat=heartbeat,
        pages=pages or PageLimits(),
        gap_limit=gap_limit,
        retries=Retries(Backoff(0.001, 0.01)),
    )
    reader = Reader(source)
    try:
        yield reader
    finally:
        await reader.close()


async def write(store: FaultyStore, *operations: Operation) -> int:
    """One transaction; its revision."""
    return (await store.transaction([], operations)).revision


def put(uuid: str, value: bytes = b"{}", kind: str = "network") -> Put:
    """A resource."""
    return Put(f"{PREFIX}{kind}/{uuid}", value)


def delete(uuid: str, kind: str = "network") -> Delete:
    """Its end."""
    return Delete(f"{PREFIX}{kind}/{uuid}")
