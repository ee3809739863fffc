"""The shipped contrail compiler on a real etcd, with our API server over HTTP, with the methods of ``ContrailSystem``.

Use it for stories that run over memory and must hold on the real parts as well: they are marked ``also_live``.
What looks into the engine, or past the API server, is not there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import pytest

from intentc.model import Key
from intentc.plugins import Loaded
from intentc.service.service import CompilerService
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import prefix_end
from tests.support.contrail_system import ContrailSystem
from tests.support.live_system import LiveSystem, counted_world
from tests.support.memory_system import PREFIX, Document


class _Server:
    """The API server as a person calls it."""

    def __init__(self, live: LiveSystem) -> None:
        self._live = live

    async def create(self, kind: str, body: Document) -> None:
        fields = {field: value for field, value in body.items() if field != "fq_name"}
        await self._live.create(kind, body["fq_name"][-1], tuple(body["fq_name"][:-1]), **fields)

    async def update(self, key: Key, body: Document) -> None:
        await self._live.update(key.kind, key.uuid, **body)

    async def delete(self, key: Key) -> None:
        await self._live.delete(key.kind, key.uuid)

    async def sync(self, elements: Iterable[Document]) -> None:
        await self._live.sync(*((one["operation"], one["kind"], one["data"]) for one in elements))

    async def identify(self, kind: str, fq_name: Iterable[str]) -> str:
        asked = {"type": kind.replace("_", "-"), "fq_name": list(fq_name)}
        answer = await self._live.person.post(f"{self._live.url}/fqname-to-id", json=asked)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["uuid"])


class _Local:
    """What is allocated, as if to the installation ``default``."""

    def __init__(self, live: LiveSystem) -> None:
        self._live = live

    async def all_allocations(self, prefix: str) -> list[tuple[str, str, int]]:
        found = []
        for pool in self._live.loaded.pools:
            asked = {"pool": pool, "owner": ""}
            answer = await self._live.person.get(f"{self._live.url}/int-pool", params=asked)
            held = answer.json()["allocations"]
            for entry in held:
                owner = entry["owner"].replace(f"{self._live.path}/", "default/", 1)
                found.append((entry.get("pool", pool), owner, entry["value"]))
        return found


class _Offline:
    def __init__(self, live: LiveSystem) -> None:
        self.server, self.local = _Server(live), _Local(live)


class _Store:
    """The world's keys, as they are called over memory."""

    def __init__(self, live: LiveSystem) -> None:
        self._live = live

    async def range(self, key: str, end: str = "") -> Any:
        own = f"/{self._live.path}/{key.removeprefix(PREFIX)}"
        found = await self._live.store.range(own, prefix_end(own) if end else "")
        items = tuple(one._replace(key=one.key.replace(f"/{self._live.path}/", PREFIX, 1)) for one in found.items)
        return found._replace(items=items)


class _Written:
    """The calls by which compilers asked for changes since this was made, in place of the recorded writes."""

    def __init__(self, live: LiveSystem) -> None:
        self._live, self._before = live, live.calls.mutations

    @property
    def written(self) -> list[str]:
        since = self._live.calls.mutations.items()
        return [call for call, count in since for _ in range(count - self._before.get(call, 0))]

    @property
    def calls(self) -> int:
        return len(self.written)


class _Compiler:
    """A compiler at work, one at a time."""

    def __init__(self, live: LiveSystem) -> None:
        self.live = live
        self._stack = AsyncExitStack()
        self.service: CompilerService | None = None

    async def start(self) -> None:
        await self.halt()
        self.service = await self._stack.enter_async_context(self.live.compiling())

    async def halt(self) -> None:
        self.service = None
        await self._stack.aclose()

    async def settle(self) -> None:
        if self.service is not None:
            await self.live.settle(self.service)


class LiveContrailSystem(ContrailSystem):
    def __init__(self, compiler: _Compiler) -> None:
        self.loaded = compiler.live.loaded
        self.stopped = False
        self.write = cast(Any, _Written(compiler.live))
        self.offline = cast(Any, _Offline(compiler.live))
        self.store = cast(Any, _Store(compiler.live))
        self._compiler = compiler

    async def begin(self) -> LiveContrailSystem:
        await self.create("project", "blue")
        return self

    async def transact(self, *changes: tuple[str, str, str, Document], settle: bool = True) -> list[str]:
        if self.stopped:
            await self._compiler.halt()
        return await super().transact(*changes, settle=settle)

    async def settle(self) -> None:
        if not self.stopped:
            await self._compiler.settle()

    async def restart(self) -> LiveContrailSystem:
        """Another compiler in place of the present one; ``write.written``: what it asked the server to change."""
        await self._compiler.halt()
        again = LiveContrailSystem(self._compiler)
        await self._compiler.start()
        await self._compiler.settle()
        return again

    def forget(self) -> None:
        self.write = cast(Any, _Written(self._compiler.live))


@asynccontextmanager
async def live_contrail(endpoint: str, loaded: Loaded, patch: pytest.MonkeyPatch) -> AsyncIterator[LiveContrailSystem]:
    """A world of its own in the etcd at ``endpoint``, with an API server and a compiler at work."""
    store = EtcdStore([endpoint])
    try:
        async with counted_world(store, loaded, patch) as live, live.serving():
            compiler = _Compiler(live)
            await compiler.start()
            try:
                yield await LiveContrailSystem(compiler).begin()
            finally:
                await compiler.halt()
    finally:
        await store.close()
