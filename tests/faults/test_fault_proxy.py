"""The proxy of the fault bench does to a connection what it says, and nothing else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from tests.faults.fault_proxy import FaultProxy, Way, fault_proxy
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
MUCH = 100_000


@pytest.fixture
async def proxy() -> AsyncIterator[FaultProxy]:
    """Before a server that sends back what it gets; sent ``much``, it answers with 100,000 bytes."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while piece := await reader.read(1024):
                writer.write(b"x" * MUCH if piece == b"much" else piece)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server, fault_proxy("{}:{}".format(*server.sockets[0].getsockname()[:2])) as running:
        yield running


async def connected(proxy: FaultProxy) -> Stream:
    host, _, port = proxy.address.rpartition(":")
    return await asyncio.open_connection(host, int(port))


async def said(stream: Stream, words: bytes, within: float = PATIENCE) -> bytes:
    """What comes back."""
    stream[1].write(words)
    return await asyncio.wait_for(stream[0].readexactly(len(words)), within)


async def end(stream: Stream) -> None:
    stream[1].transport.abort()
    await asyncio.sleep(0)


async def test_without_a_fault_bytes_come_through_both_ways(proxy: FaultProxy) -> None:
    stream = await connected(proxy)
    assert await said(stream, b"hello") == b"hello"
    assert len(proxy.connects) == proxy.states == 1
    await end(stream)


async def test_a_reset_cuts_what_stands_and_lets_new_connections_in(proxy: FaultProxy) -> None:
    stream = await connected(proxy)
    await said(stream, b"hello")
    proxy.reset()
    with pytest.raises(ConnectionResetError):
        await stream[0].read(1)
    again = await connected(proxy)
    assert await said(again, b"hello") == b"hello"
    await end(again)


async def test_refused_connections_are_served_again_at_the_same_address_once_healed(proxy: FaultProxy) -> None:
    stream = await connected(proxy)
    await said(stream, b"hello")
    await proxy.reject()
    with pytest.raises(ConnectionError):
        await stream[0].read(1)
    with pytest.raises(ConnectionError):
        await connected(proxy)
    await proxy.heal()
    again = await connected(proxy)
    assert await said(again, b"hello") == b"hello"
    await end(again)


async def test_a_blackhole_keeps_one_way_back_and_loses_nothing(proxy: FaultProxy) -> None:
    stream = await connected(proxy)
    await said(stream, b"hello")
    proxy.blackhole(Way.TO_CLIENT)
    with pytest.raises(TimeoutError):
        await said(stream, b"kept", within=0.1)
    await proxy.heal()
    assert await asyncio.wait_for(stream[0].readexactly(4), PATIENCE) == b"kept"
    await end(stream)


async def test_a_cut_happens_after_a_number_of_bytes_and_may_reject_afterwards(proxy: FaultProxy) -> None:
    stream = await connected(proxy)
    await said(stream, b"hello")
    proxy.cut_inside(30_000, reject=True)
    stream[1].write(b"much")
    assert len(await asyncio.wait_for(stream[0].readexactly(30_000), PATIENCE)) == 30_000
    await asyncio.wait_for(proxy.cut_done.wait(), PATIENCE)
    with pytest.raises(ConnectionError):
        await stream[0].read(1)
    with pytest.raises(ConnectionError):
        await connected(proxy)


async def test_delay_and_throttle_take_their_time(proxy: FaultProxy) -> None:
    stream = await connected(proxy)
    await said(stream, b"hello")
    proxy.delay_seconds = 0.05
    began = time.monotonic()
    await said(stream, b"hello")
    assert time.monotonic() - began >= 0.1
    proxy.delay_seconds, proxy.bytes_per_second = 0.0, 1_000_000
    began = time.monotonic()
    stream[1].write(b"much")
    await stream[0].readexactly(MUCH)
    assert time.monotonic() - began >= 0.09
    await end(stream)
