"""A real Envoy at the end of a bench: how long it takes to accept what it is sent.

The world of the xDS server is filled by the bench; here are its streams and an Envoy, and nothing before them.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from intentc.bridges.xds.ads import Discovery, listening
from intentc.bridges.xds.bootstrap import Address, bootstrap
from intentc.bridges.xds.metrics import Figures
from intentc.bridges.xds.rejections import RejectionAnalyzer
from intentc.bridges.xds.snapshot_cache import SnapshotCache
from intentc.dev.envoy_server import running_envoy

_WITHIN_SECONDS = 60.0

Update = Callable[[], Awaitable[float]]


@asynccontextmanager
async def envoy_over(world: SnapshotCache) -> AsyncIterator[Update]:
    """An Envoy that has accepted all of ``world``. Gives a call that sends it everything published since, and returns
    the seconds until it has accepted that. Both raise ``TimeoutError`` after a minute, or if it rejects anything."""
    answered = anyio.Event()

    def changed() -> None:
        nonlocal answered
        answered.set()
        answered = anyio.Event()

    discovery = Discovery(world, RejectionAnalyzer(world), Figures(dict), changed)

    async def update() -> float:
        began = time.perf_counter()
        discovery.published()
        with anyio.fail_after(_WITHIN_SECONDS):
            while not world.streams or any(stream.serial < world.serial for stream in world.streams):
                await answered.wait()
        assert not world.rejected, list(world.rejected)
        return time.perf_counter() - began

    async with (
        listening(discovery, "127.0.0.1", 0) as port,
        running_envoy(bootstrap(Address("127.0.0.1", port))),
    ):
        await update()
        yield update
