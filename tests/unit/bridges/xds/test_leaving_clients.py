"""Clients that go away at any moment, and clients that reject again and again: what is logged of them."""

from __future__ import annotations

import logging
from contextlib import suppress

import anyio
import anyio.lowlevel
import grpc.aio
import pytest
from envoy.service.discovery.v3 import discovery_pb2

from intentc.bridges.xds import rejections
from intentc.bridges.xds.elements import Type
from intentc.bridges.xds.metrics import REJECTIONS
from intentc.bridges.xds.serving import Server, running_xds
from intentc.watch.memory import MemoryStore
from tests.support.envoy.handmade import cluster, write
from tests.support.waiting import until
from tests.unit.bridges.xds.client import connected

pytestmark = pytest.mark.anyio
_DELTA = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
_OWN = [("grpc.use_local_subchannel_pool", 1)]


@pytest.fixture
async def store() -> MemoryStore:
    """A store whose clusters are some megabytes."""
    store = MemoryStore(max_txn_ops=10_000)
    await write(store, *(cluster(f"cluster-{number}-{'x' * 1_000}", number) for number in range(2_000)))
    return store


async def _leave(port: int, turns: int) -> None:
    """Ask for everything, and go away ``turns`` turns of the loop later."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=_OWN) as channel:
        call = channel.stream_stream(_DELTA, discovery_pb2.DeltaDiscoveryRequest.SerializeToString)()
        await call.write(discovery_pb2.DeltaDiscoveryRequest(type_url=Type.CLUSTERS))
        for _ in range(turns):
            await anyio.lowlevel.checkpoint()
        call.cancel()
        with suppress(grpc.aio.AioRpcError, BaseException):
            await call.read()


async def test_a_client_that_leaves_in_mid_send_leaves_no_traceback(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_xds(store, "gateway") as server:
        for turns in range(0, 400, 4):
            await _leave(server.port, turns)
        await until(lambda: not server.cache.streams)
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_clients_that_reject_again_and_again_are_logged_once_for_each_rejection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = MemoryStore()
    await write(store, cluster("a", 1))
    async with running_xds(store, "gateway") as server, connected(server.port, incremental=True) as good:
        await good.ask(Type.CLUSTERS)
        await good.answer(await good.received())
        for turn in range(20):
            async with connected(server.port, incremental=True) as bad:
                await bad.ask(Type.CLUSTERS)
                before = _nacks(server)
                await bad.answer(await bad.received(), error=f"no {turn % 2}")
                await until(lambda before=before: _nacks(server) > before)  # type: ignore[misc]
    lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert lines == [f"one Envoy rejects what others have in force; it keeps what it has: no {turn}" for turn in (0, 1)]


async def test_a_client_whose_every_rejection_is_another_one_does_not_fill_the_log() -> None:
    now = 0.0
    log = rejections.RejectionLog(lambda: now)
    levels = [log.level("element", f"no {turn}", logging.ERROR) for turn in range(5_000)]
    assert levels.count(logging.ERROR) == 30
    now = 60.0
    assert log.level("element", "no 0", logging.ERROR) == logging.DEBUG
    assert log.level("element", "no 4999", logging.ERROR) == logging.ERROR
    now = 7200.0
    assert log.level("element", "no 0", logging.ERROR) == logging.ERROR


def _nacks(server: Server) -> float:
    """How many rejections were counted."""
    (family,) = [one for one in server.figures.registry.collect() if one.name == REJECTIONS]
    return sum(sample.value for sample in family.samples if sample.name == f"{REJECTIONS}_total")
