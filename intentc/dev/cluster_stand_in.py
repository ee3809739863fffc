"""Runs a stand-in for a Kubernetes cluster in ``intentc dev``, where the compilers make objects in a cluster.

Why it exists: a user who loads such a compiler wants to see statuses change as Deployments become available, and has no
cluster. It is the one of ``intentc.testing``: nothing runs in it, and it says that everything is ready.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import click

from intentc.cli.api_client import ApiClient
from intentc.cli.connecting import api_server
from intentc.outgoing import MANIFEST
from intentc.testing.fake_cluster import FakeCluster
from intentc.writing.connection import Connection

from .servers import Running

_PROGRESS_SECONDS = 0.5
"""Between two reports of progress while objects change; the last one is when nothing changes any more."""
_LOOK_SECONDS = 0.2
"""Between two looks whether there is something to do: users and intents change manifests at any time."""


@asynccontextmanager
async def running_cluster(
    started: Running, on_quiet: Callable[[], None] | None, on_progress: Callable[[], None]
) -> AsyncIterator[None]:
    """Run the stand-in next to the servers, if the compilers make objects in a cluster. ``on_quiet``: the block is
    entered, after this is called, only when the stand-in has nothing left to do. ``on_progress``: called from time to
    time while the block runs, since statuses may have changed."""
    world = started.service.engine.world
    if MANIFEST not in world.schema:
        yield
        return

    click.echo("\nA stand-in for a Kubernetes cluster answers; nothing runs in it:", err=True)
    cluster = FakeCluster()
    async with ApiClient(Connection(api_server(started.configuration))) as client, anyio.create_task_group() as group:
        host = _Host(started, client)
        if on_quiet is not None:
            while await _advance(cluster, host):
                pass
            on_quiet()
        group.start_soon(_run, cluster, host, on_progress)
        yield
        group.cancel_scope.cancel()


class _Host:
    """The system whose manifests the stand-in carries out; it is its own ``server``, which calls the API server."""

    def __init__(self, started: Running, client: ApiClient) -> None:
        self.engine = started.service.engine
        self.installation = started.configuration.intentc.installation
        self._client = client

    @property
    def server(self) -> _Host:
        return self

    async def sync(self, elements: list[dict[str, Any]]) -> None:
        """Write what was observed."""
        await self._client.carry_out(elements)

    async def seen(self) -> None:
        """Wait until the engine has seen what was written, and has converged."""
        await self.engine.settled(self._client.revision)


async def _run(cluster: FakeCluster, host: _Host, on_progress: Callable[[], None]) -> None:
    called = anyio.current_time()
    while True:
        stepped = await _advance(cluster, host)
        if not stepped or anyio.current_time() - called >= _PROGRESS_SECONDS:
            on_progress()
            called = anyio.current_time()
        if not stepped:
            await anyio.sleep(_LOOK_SECONDS)


async def _advance(cluster: FakeCluster, host: _Host) -> bool:
    """Take one step of the cluster; False if none is due."""
    await host.seen()
    cluster.log.clear()
    stepped = await cluster.step(host)
    for line in cluster.log:
        click.echo(f"  {line}", err=True)
    return stepped
