"""A handmade system: a store, an xDS server, a real Envoy and two backends; the test writes the elements by hand.

Use it for the xDS server and Envoy, without a compiler.
"""

from __future__ import annotations

import http.client
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import anyio.to_thread

from intentc.bridges.xds.bootstrap import Address, bootstrap
from intentc.bridges.xds.serving import Server, running_xds
from intentc.dev.envoy_server import Envoy, running_envoy
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Operation
from tests.envoy.backends import backend
from tests.support.envoy.handmade import cluster, listener, rejections, route, virtual_host, write
from tests.support.envoy.held_ports import held_port
from tests.support.waiting import PATIENCE, until_true

WITHIN = PATIENCE


class HandmadeSystem:
    """A store, an xDS server, an Envoy and two backends ``a`` and ``b``, behind one listener."""

    def __init__(self, server: Server, envoy: Envoy, store: MemoryStore, port: int, a: int, b: int) -> None:
        self.server = server
        self.envoy = envoy
        self.store = store
        self.port = port
        self.a = a
        self.b = b

    async def write(self, *operations: Operation) -> None:
        await write(self.store, *operations)

    async def get(self, path: str) -> str:
        """Which backend answers, or the status."""
        return await anyio.to_thread.run_sync(ask, self.port, path)

    async def answers(self, path: str, expected: str) -> None:
        await until_true(lambda: self._is(path, expected))

    async def rejects(self, *names: str) -> None:
        """The records are about exactly these."""

        async def recorded() -> bool:
            return set(await rejections(self.store)) == set(names)

        await until_true(recorded)

    async def _is(self, path: str, expected: str) -> bool:
        return await self.get(path) == expected


def ask(port: int, path: str) -> str:
    """Which backend answers at ``port``, the status, or ``nobody``."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        for name in ("a", "b"):
            if f'"service": "{name}"'.encode() in body:
                return name
        return str(answer.status)
    except OSError:
        return "nobody"
    finally:
        connection.close()


@asynccontextmanager
async def built(incremental: bool) -> AsyncIterator[HandmadeSystem]:
    """A site with an Envoy of either dialect, ended with the block."""
    store = MemoryStore(max_txn_ops=1_000)
    async with AsyncExitStack() as stack:
        port = stack.enter_context(held_port())
        a = (await stack.enter_async_context(backend("a"))).port
        b = (await stack.enter_async_context(backend("b"))).port
        await write(
            store,
            listener("ns/http", port),
            virtual_host("*"),
            cluster("a", a),
            cluster("b", b),
            route("root", "/", "a"),
        )
        server = await stack.enter_async_context(running_xds(store, "gateway"))
        configuration = bootstrap(Address("127.0.0.1", server.port), incremental=incremental)
        envoy = await stack.enter_async_context(running_envoy(configuration))
        yield HandmadeSystem(server, envoy, store, port, a, b)


async def reaches(port: int, expected: str) -> bool:
    """Whether just ``expected`` (a backend, a status or ``nobody``) answers at ``port``."""
    return await anyio.to_thread.run_sync(ask, port, "/") == expected
