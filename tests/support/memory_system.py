"""A memory system: store, API server and engine in the test's own process, without sockets or other processes.

Use it for whatever the engine does and no cut or kill is needed for. Which one: ``BoxSystem`` for rules of the engine
(a compiler of two kinds whose server fails on demand), ``ContrailSystem`` for stories over the shipped compiler,
``PlannedSystem`` for plans, ``AuditedSystem`` for changes in the middle of an audit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
import msgspec

from intentc.apiserver.sources import Source as Choices
from intentc.model import Batch, Key, Snapshot
from intentc.offline.offline import PATH, Offline
from intentc.plugins import Loaded
from intentc.testing.recording import Recording
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Delete, Put
from intentc.watch.source import Source
from intentc.writing import DryRun
from tests.support.faulty_store import FaultyStore
from tests.support.waiting import PATIENCE

PREFIX = f"/{PATH}/"
Document = dict[str, Any]
_UNLIMITED = 10_000_000


class MemorySystem:
    """``write`` records what the engine asks the server to change. The engine works while ``settle`` is awaited, or
    as a task in the block of ``running``."""

    def __init__(
        self, loaded: Loaded, *, write: Recording | None = None, store: MemoryStore | None = None,
        observe: bool = False, healing: bool = True, choices: Choices | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """``store``: of an earlier system, as after a restart. ``observe``: the engine plans and writes nothing.
        ``healing``: recorded reads run intents that the map does not name. ``choices``: uuids and times.
        ``clock``: of the engine, in seconds."""
        self.loaded = loaded
        self.write = write or Recording(DryRun())
        store = store or FaultyStore(max_txn_ops=_UNLIMITED)
        self.offline = Offline(
            loaded, write=self.write, store=store, observe=observe, healing=healing, source=choices, clock=clock
        )
        self.write.target = self.offline.local
        self.store = self.offline.store
        self.engine = self.offline.engine
        self.parts = self.engine

    async def settle(self) -> None:
        """Let the engine work until nothing is left to do."""
        await self.offline.settle()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        """Run the engine as a task, which is cancelled at the end of the block."""
        task = asyncio.create_task(self._run())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.wait([task])
            self.close()

    async def settled(self) -> None:
        """Wait until a running engine has applied everything in the store and has nothing left to do."""
        unseen = self.store.batches(PREFIX, self.engine.revision)
        with anyio.fail_after(PATIENCE):
            await self.engine.settled(max((batch.revision for batch in unseen), default=0))

    def close(self) -> None:
        """Cancel the retries that wait for the end of a back-off."""
        self.engine.close()

    async def key(self, kind: str, *fq_name: str) -> Key:
        return Key(kind, await self.offline.server.identify(kind, fq_name))

    async def put(self, key: Key, value: bytes | Document | None) -> None:
        """Write to the store past the API server; None deletes."""
        where = f"{PREFIX}{key.kind}/{key.uuid}"
        raw = value if isinstance(value, bytes) else msgspec.json.encode(value)
        await self.store.transaction((), [Delete(where) if value is None else Put(where, raw)])
        await self.settle()

    async def _run(self) -> None:
        await self.engine.load_allocations()
        async with aclosing(Source(self.store, PREFIX).events()) as events:
            await self.engine.run(self.received(events))

    def received(self, events: AsyncIterator[Snapshot | Batch]) -> AsyncIterator[Snapshot | Batch]:
        """The events of the store as they reach a running engine."""
        return events
