"""A compiler, the publisher with its real records, and the stand-in for Azure, all in memory and in one task.

Each request of the publisher, to Azure or to the API server, is two steps: before it arrives, and before its answer
does. A test can end the process at any of them (``kill_at``), and start another.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

import anyio

from intentc.bridges.azure.client import NotAccepted
from intentc.bridges.azure.compiled_world import StoredWorld
from intentc.bridges.azure.publisher import MANAGED, Gateway, Pass, Publisher
from intentc.bridges.azure.record_writer import GatewayRecords
from intentc.bridges.azure.rejections import Rejection
from intentc.dev.resource_manager import Answer, ResourceManager
from intentc.model import Batch, Key
from intentc.reconcile.failures import Conflict, Unavailable
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.writing import Written
from intentc.writing.http import MirrorService
from tests.support.appgw.system import DocumentSystem, Manifest, Name
from tests.support.azure_gateway import OWN, small_gateway

_LAYOUT = Layout.of("/contrail/")
_RESTING = frozenset({"Applied", "Held", "ForeignConfiguration", "GatewayStopped"})


class Killed(BaseException):
    """The process of the publisher has ended."""


class _Writer(MirrorService):
    """Has ``write`` carry out each change at once."""

    def __init__(self, write: Callable[[dict[str, Any], str | None], asyncio.Future[Written]]) -> None:
        self._write = write

    def create(self, key: Key, collection: str, data: bytes, fence: str | None) -> asyncio.Future[Written]:
        return self._write({"kind": key.kind, "operation": "CREATE", "data": json.loads(data)}, fence)

    def update(
        self, key: Key, data: bytes, fence: str | None, revision: int, mask: tuple[str, ...] = ()
    ) -> asyncio.Future[Written]:
        return self._write(
            {"kind": key.kind, "operation": "UPDATE", "data": json.loads(data), "if_match": revision}, fence
        )

    def remove(self, key: Key, revision: int, fence: str | None) -> asyncio.Future[Written]:
        return self._write(
            {"kind": key.kind, "operation": "DELETE", "data": {"uuid": key.uuid}, "if_match": revision}, fence
        )


class PublishedSystem:
    """``steps``: how many there were; ``kill_at``: the number of the step at which the process ends, 0: none;
    ``compiles``: whether the compiler works. It is ``publisher.Manager``; ``writer`` writes the records."""

    def __init__(self, limits: Mapping[str, int] | None = None) -> None:
        shown = small_gateway()
        shown["tags"][MANAGED] = "before"
        self._limits = limits or {}
        self.compiler = DocumentSystem(shown, {"applicationGatewayID": OWN})
        self.offline = self.compiler.offline
        self._plurals = {name: kind.plural for name, kind in self.offline.server.schema.kinds.items()}
        self.now = 0.0
        self.azure = ResourceManager(shown, lambda: self.now, put_seconds=1)
        self.steps = self.kill_at = 0
        self.compiles = True
        self.passes: list[Pass] = []
        self._processes = 0
        self._compiling = anyio.Lock()
        self.writer = _Writer(self.write)
        self.fences: list[str | None] = []
        """That of each write of a record."""

    async def start(self, *manifests: Manifest) -> None:
        """The first process, in a world with ``manifests``."""
        await self.offline.seed()
        await self.compiler.put(*manifests)
        await self.restart()

    async def apply(self, *manifests: Manifest) -> None:
        """A user creates or changes resources."""
        await self.compiler.put(*manifests)

    async def delete(self, *names: Name) -> None:
        """A user deletes resources."""
        await self.compiler.delete(*names)

    async def restart(self) -> None:
        """A new process, which knows what is stored."""
        self.kill_at = 0
        self._processes += 1
        self.stored = StoredWorld()
        listing = await list_all(self.offline.store, _LAYOUT, lambda key: None)
        self.stored.take(listing.snapshot)
        records = GatewayRecords(self.writer, self.stored, "gw", "", self._plurals, self._shown)
        published = self.stored.published("gw")
        self.publisher = Publisher(
            self,
            records,
            self.stored.world,
            Gateway(OWN, limits=self._limits),
            published,
            self.stored.suspected(),
            clock=lambda: self.now,
        )

    async def look(self) -> Pass:
        """One pass, with what is stored now."""
        await self._shown(0)
        found = await self.publisher.publish()
        self.passes.append(found)
        self.now += found.after or 0.0
        await self._shown(0)
        return found

    async def until_quiet(self) -> Pass:
        """Passes until one says what stays so."""
        for _ in range(60):
            found = await self.look()
            if found.state in _RESTING:
                return found
            self.now += 5.0 if found.failed else 0.0
        raise AssertionError(f"no rest: {[one.state for one in self.passes[-10:]]}, {found}")

    @property
    def hosts(self) -> list[str]:
        """The host names that the gateway serves."""
        listeners = self.azure.get()["properties"]["httpListeners"]
        return sorted(name for one in listeners for name in one["properties"]["hostNames"])

    async def get(self, resource: str) -> dict[str, Any]:
        self._step()
        self.azure.meet("GET")
        found = self.azure.get() if resource == OWN else {"properties": {"ipAddress": "192.0.2.1"}}
        self._step()
        return found

    async def put(self, resource: str, document: Mapping[str, Any], etag: str) -> None:
        self._step()
        self.azure.meet("PUT")
        try:
            _, operation = self.azure.put(copy.deepcopy(dict(document)), etag)
        except Answer as answer:
            self._step()
            error = NotAccepted(Rejection(answer.fault.code, answer.fault.message))
            raise Conflict(412, "") if answer.status == 412 else error from None
        self._step()
        self.now += 1
        fault = self.azure.operation(operation.name).fault
        self._step()
        if fault:
            raise Unavailable(fault.message)

    async def _compile(self) -> None:
        async with self._compiling:
            if self.compiles:
                await self.offline.settle()

    def write(self, entry: dict[str, Any], fence: str | None) -> asyncio.Future[Written]:
        """Carry out one change."""
        process = self._processes

        async def write() -> Written:
            self._step(process)
            _, revision = await self.offline.server.sync([entry])
            self.fences.append(fence)
            self._step(process)
            await self._compile()
            return Written(revision)

        return asyncio.ensure_future(write())

    async def _shown(self, revision: int) -> None:
        """The compiler works, and the publisher sees what is stored."""
        await self._compile()
        for batch in self.offline.store.batches(_LAYOUT.prefix, self.stored.revision):
            self.stored.take(Batch(batch.revision, _LAYOUT.changes(batch.events, lambda key: None)))

    def _step(self, process: int = 0) -> None:
        self.steps += 1
        if (self.kill_at and self.steps >= self.kill_at) or (process and process != self._processes):
            raise Killed
