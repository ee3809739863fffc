"""A connection to a cluster is closed whenever its request ends."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from intentc.bridges.kubernetes.cluster import Cluster
from intentc.loading.kubeconfig import ClusterAccess
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


async def test_a_request_cancelled_during_the_handshake_closes_its_connection() -> None:
    accepted, closed = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        accepted.set()
        while await reader.read(1024):
            pass
        closed.set()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    cluster = Cluster(lambda: ClusterAccess(server=f"https://127.0.0.1:{port}"))
    async with server, anyio.create_task_group() as group:
        group.start_soon(cluster.get, "/version")
        await accepted.wait()
        group.cancel_scope.cancel()
    await cluster.aclose()
    with anyio.fail_after(PATIENCE):
        await closed.wait()
