"""A store whose watches deliver again what they have delivered, as etcd before 3.4.24 may; all else is the real one's.

Why a wrapper: an etcd can't be made to repeat itself on demand.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Watch, WatchBatch, WatchProgress


class ReplayingStore(EtcdStore):
    """``replay()``: every open watch delivers its last ``keep`` batches again, oldest first, and goes on. With
    ``every`` it does so by itself after each so many batches."""

    def __init__(self, endpoints: Sequence[str], *, keep: int, every: int = 0) -> None:
        super().__init__(endpoints)
        self.replayed = 0
        """Batches delivered again so far."""
        self._keep = keep
        self._every = every
        self._open: set[_ReplayingWatch] = set()

    def replay(self) -> int:
        """How many batches are delivered again now."""
        return sum(watch.replay() for watch in self._open)

    @asynccontextmanager
    async def watch(self, prefixes: Sequence[str], start_revision: int) -> AsyncIterator[Any]:
        async with super().watch(prefixes, start_revision) as real:
            watch = _ReplayingWatch(self, real, self._keep, self._every)
            pump = asyncio.create_task(watch.pump())
            self._open.add(watch)
            try:
                yield watch
            finally:
                self._open.discard(watch)
                pump.cancel()
                await asyncio.wait([pump])


class _ReplayingWatch:
    """Reads the real watch in a task of its own, so that a replay need not wait for the next event."""

    def __init__(self, store: ReplayingStore, real: Watch, keep: int, every: int) -> None:
        self._store = store
        self._real = real
        self._every = every
        self._delivered: deque[WatchBatch] = deque(maxlen=keep)
        self._count = 0
        self._ready: asyncio.Queue[WatchBatch | WatchProgress | Exception] = asyncio.Queue()

    @property
    def cluster_id(self) -> int:
        return self._real.cluster_id

    async def pump(self) -> None:
        try:
            async for item in self._real:
                self._ready.put_nowait(item)
                if isinstance(item, WatchBatch):
                    self._delivered.append(item)
                    self._count += 1
                    if self._every and self._count % self._every == 0:
                        self.replay()
        except Exception as error:  # whatever ends the real watch ends this one
            self._ready.put_nowait(error)

    def replay(self) -> int:
        for batch in self._delivered:
            self._ready.put_nowait(batch)
        self._store.replayed += len(self._delivered)
        return len(self._delivered)

    def __aiter__(self) -> _ReplayingWatch:
        return self

    async def __anext__(self) -> WatchBatch | WatchProgress:
        item = await self._ready.get()
        if isinstance(item, Exception):
            raise item
        return item
