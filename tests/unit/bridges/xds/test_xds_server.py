"""The server as a whole, over the memory store and real gRPC on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, NamedTuple

import anyio
import grpc.aio
import msgspec
import pytest
from anyio.abc import SocketStream
from prometheus_client import generate_latest
from pytest_mock import MockerFixture

from intentc.bridges.xds import ads, draining
from intentc.bridges.xds.ads import AddressTaken, Discovery, listening
from intentc.bridges.xds.elements import Type
from intentc.bridges.xds.metrics import Figures
from intentc.bridges.xds.rejections import RejectionAnalyzer
from intentc.bridges.xds.serving import Server, running_xds
from intentc.bridges.xds.snapshot_cache import SnapshotCache
from intentc.watch.protocol import Compacted, Put
from tests.support.envoy.handmade import (
    CONFIGURATION,
    LAYOUT,
    cluster,
    element,
    element_key,
    gone,
    rejections,
    route,
    virtual_host,
    write,
)
from tests.support.faulty_store import FaultyStore
from tests.support.waiting import PATIENCE, until
from tests.unit.bridges.xds.client import Client, connected, names

pytestmark = pytest.mark.anyio


async def recorded(store: FaultyStore, *expected: str) -> None:
    with anyio.fail_after(PATIENCE):
        while set(await rejections(store)) != set(expected):  # noqa: ASYNC110  # nothing notifies a test of it
            await anyio.sleep(0.002)


def rejected(server: Server) -> set[str]:
    return {name for _, name in server.cache.rejected}


class Served(NamedTuple):
    """A server over a store that holds the cluster ``a``, and an Envoy that has asked for clusters.

    ``first``: the response that the Envoy has received, and not answered yet.
    """

    store: FaultyStore
    server: Server
    envoy: Client
    first: Any


@asynccontextmanager
async def serving(store: FaultyStore, *, incremental: bool = True) -> AsyncIterator[Served]:
    """A server over ``store`` with an Envoy, until the block ends."""
    async with running_xds(store, "gateway") as server, connected(server.port, incremental=incremental) as envoy:
        await envoy.ask(Type.CLUSTERS)
        yield Served(store, server, envoy, await envoy.received())


@pytest.fixture
async def store() -> FaultyStore:
    """A store that holds the cluster ``a``."""
    store = FaultyStore()
    await write(store, cluster("a", 1))
    return store


@pytest.fixture
async def served(store: FaultyStore) -> AsyncIterator[Served]:
    """In the incremental dialect."""
    async with serving(store) as started:
        yield started


@pytest.mark.parametrize("incremental", [False, True], ids=["state of the world", "incremental"])
async def test_an_envoy_is_sent_what_the_store_holds_and_what_changes(store: FaultyStore, incremental: bool) -> None:
    async with serving(store, incremental=incremental) as (_, _, envoy, first):
        assert names(first) == {"a"}
        await envoy.answer(first)
        await write(store, cluster("b", 1))
        second = await envoy.received()
        assert names(second) == ({"b"} if incremental else {"a", "b"})
        assert second.nonce != first.nonce


@pytest.mark.parametrize("incremental", [False, True], ids=["state of the world", "incremental"])
async def test_a_route_is_sent_when_its_cluster_was_acknowledged(incremental: bool) -> None:
    store = FaultyStore()
    await write(store, virtual_host("*"))
    async with running_xds(store, "gateway") as server, connected(server.port, incremental=incremental) as envoy:
        await envoy.ask(Type.CLUSTERS)
        await envoy.answer(await envoy.received())
        await envoy.ask(Type.ROUTES, CONFIGURATION)
        await envoy.answer(await envoy.received(), CONFIGURATION)
        await write(store, route("r", "/", "c"))
        await until(lambda: bool(server.cache.held))
        await write(store, cluster("c", 1))
        clusters = await envoy.received()
        assert clusters.type_url == Type.CLUSTERS
        await envoy.answer(clusters)
        assert (await envoy.received()).type_url == Type.ROUTES


async def test_two_envoys_each_have_their_own_course(store: FaultyStore) -> None:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(running_xds(store, "gateway"))
        slow = await stack.enter_async_context(connected(server.port, incremental=True))
        quick = await stack.enter_async_context(connected(server.port, incremental=False))
        for envoy in (slow, quick):
            await envoy.ask(Type.CLUSTERS)
            assert names(await envoy.received()) == {"a"}
        await write(store, cluster("b", 1))
        await quick.ask(Type.ENDPOINTS, "b")
        assert server.status()["streams"] == 2


@pytest.mark.parametrize("incremental", [False, True], ids=["state of the world", "incremental"])
async def test_an_envoy_that_never_answers_keeps_removed_clusters_for_the_others_only_so_long(
    incremental: bool, mocker: MockerFixture
) -> None:
    """Nothing else happens meanwhile; when it answers after all, it is sent what it has missed."""
    mocker.patch.object(draining, "SILENCE_SECONDS", 0.5)
    store = FaultyStore()
    await write(store, cluster("c", 1), virtual_host("*"), route("r", "/", "c"))
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(running_xds(store, "gateway"))
        quick = await stack.enter_async_context(connected(server.port, incremental=incremental))
        stuck = await stack.enter_async_context(connected(server.port, incremental=incremental))
        for envoy in (quick, stuck):
            await envoy.ask(Type.CLUSTERS)
            await envoy.answer(await envoy.received())
            await envoy.ask(Type.ROUTES, CONFIGURATION)
            await envoy.answer(await envoy.received(), CONFIGURATION)
        await until(lambda: all(one.serial == server.cache.serial for one in server.cache.streams))
        await write(store, gone("envoy_route", "r"), gone("envoy_cluster", "c"))
        await quick.answer(await quick.received(), CONFIGURATION)
        unanswered = await stuck.received()
        assert unanswered.type_url == Type.ROUTES
        removal = await quick.received()
        assert removal.type_url == Type.CLUSTERS
        assert names(removal) == set()
        assert server.status()["silent_streams"] == 1
        assert "intentc_xds_silent_streams 1.0" in generate_latest(server.figures.registry).decode()
        await quick.answer(removal)
        await stuck.answer(unanswered, CONFIGURATION)
        missed = await stuck.received()
        assert missed.type_url == Type.CLUSTERS
        assert names(missed) == set()
        if incremental:
            assert list(removal.removed_resources) == list(missed.removed_resources) == ["c"]
        await stuck.answer(missed)
        await until(lambda: server.status()["silent_streams"] == 0)


async def test_a_rejection_is_recorded_with_digest_origins_and_what_is_in_force_instead(served: Served) -> None:
    store, _, envoy, first = served
    await envoy.answer(first)
    await write(store, cluster("a", 2))
    await envoy.answer(await envoy.received(), error="Error adding/updating cluster(s) a: not like this")
    await recorded(store, "a")
    record = (await rejections(store))["a"]
    assert record["fq_name"] == ["envoy_cluster", "a"]
    assert record["message"] == "not like this"
    assert record["origins"] == [{"kind": "mapping", "name": "ns:a"}]
    assert record["last_good"] == msgspec.json.decode(cluster("a", 1).value)["config"]
    assert names(await envoy.received()) == {"a"}


async def test_a_restarted_server_honours_the_record_and_puts_the_last_good_state_in_force(store: FaultyStore) -> None:
    async with serving(store) as (_, _, envoy, first):
        await envoy.answer(first)
        await write(store, cluster("a", 2))
        await envoy.answer(await envoy.received(), error="Error adding/updating cluster(s) a: no")
        await recorded(store, "a")
    async with serving(store) as (_, server, envoy, response):
        assert rejected(server) == {"a"}
        [resource] = response.resources
        assert resource.resource.value.endswith(b"\x18\x01")  # port_value: 1, not 2
        await envoy.answer(response)
        await write(store, cluster("a", 3))
        await envoy.answer(await envoy.received())
        await recorded(store)
        assert rejected(server) == set()


async def test_an_element_that_was_written_after_its_record_is_tried_again(store: FaultyStore) -> None:
    async with serving(store) as (_, _, envoy, first):
        await envoy.answer(first, error="Error adding/updating cluster(s) a: no")
        await recorded(store, "a")
    await write(store, cluster("a", 1))
    async with running_xds(store, "gateway") as server:
        assert rejected(server) == set()


async def test_taking_a_record_away_asks_for_another_trial(served: Served) -> None:
    store, server, envoy, first = served
    await envoy.answer(first, error="Error adding/updating cluster(s) a: the port is taken")
    await recorded(store, "a")
    await until(lambda: bool(server.consumer.records))
    uuid = (await rejections(store))["a"]["uuid"]
    await envoy.answer(await envoy.received())
    await write(store, gone("envoy_rejection", "x")._replace(key=LAYOUT.key("envoy_rejection", uuid)))
    assert names(await envoy.received()) == {"a"}


async def test_an_invalid_message_is_recorded_without_asking_an_envoy() -> None:
    store = FaultyStore()
    await write(store, cluster("good", 1), cluster("bad", 1, lb_policy="BEST"))
    async with running_xds(store, "gateway") as server:
        await recorded(store, "bad")
        assert "BEST" in (await rejections(store))["bad"]["message"]
        assert set(server.cache.served.resources(Type.CLUSTERS)) == {"good"}
        await write(store, cluster("bad", 1))
        await until(lambda: set(server.cache.served.resources(Type.CLUSTERS)) == {"good", "bad"})


async def test_the_record_of_a_rejected_secret_says_only_that_it_was_rejected() -> None:
    store = FaultyStore()
    key = {"inline_string": "-----BEGIN PRIVATE KEY-----"}
    await write(store, element("envoy_secret", "s", config={"name": "s", "tls_certificate": {"private_key": key}}))
    async with running_xds(store, "gateway") as server, connected(server.port, incremental=True) as envoy:
        await envoy.ask(Type.SECRETS, "s")
        await envoy.answer(await envoy.received())
        await until(lambda: not server.cache.trial(Type.SECRETS, None))
        broken = {"name": "s", "tls_certificate": {"private_key": key, "certificate_chain": {"inline_string": "x"}}}
        await write(store, element("envoy_secret", "s", config=broken))
        await envoy.answer(await envoy.received(), error="cannot load")
        await recorded(store, "s")
        [record] = (await rejections(store)).values()
        assert "last_good" not in record
        assert "PRIVATE KEY" not in str(record)


async def test_a_value_that_cannot_be_read_leaves_what_was_there(store: FaultyStore) -> None:
    async with running_xds(store, "gateway") as server:
        await write(store, Put(element_key("envoy_cluster", "a"), b"{"), cluster("b", 1))
        await until(lambda: set(server.cache.served.resources(Type.CLUSTERS)) == {"a", "b"})


async def test_elements_deleted_during_a_cut_are_gone_after_it() -> None:
    store = FaultyStore()
    await write(store, cluster("a", 1), cluster("b", 1))
    async with running_xds(store, "gateway") as server:
        store.faults.lose_next()
        await write(store, gone("envoy_cluster", "a"))
        store.faults.cut_watches(Compacted(1))
        await until(lambda: set(server.cache.served.resources(Type.CLUSTERS)) == {"b"})


async def test_an_address_that_is_taken_is_reported() -> None:
    store = FaultyStore()
    async with running_xds(store, "gateway") as server:
        with pytest.raises(AddressTaken, match=f"can't listen on 127.0.0.1:{server.port}"):
            async with running_xds(store, "gateway", port=server.port):
                pass


async def test_the_metrics_show_what_was_sent_and_answered(served: Served) -> None:
    store, server, envoy, first = served
    await envoy.answer(first, error="Error adding/updating cluster(s) a: no")
    await recorded(store, "a")
    figures = generate_latest(server.figures.registry).decode()
    assert 'intentc_xds_pushes_total{type="clusters"} 1.0' in figures
    assert 'intentc_xds_rejections_total{type="clusters"} 1.0' in figures
    assert 'intentc_xds_elements{state="rejected"} 1.0' in figures
    assert "intentc_xds_streams 1.0" in figures


async def closed_by_the_server(stream: SocketStream) -> None:
    """Wait for it; what HTTP/2 sends before is read."""
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError), anyio.fail_after(PATIENCE):
        while await stream.receive():
            pass


async def test_half_open_connections_disturb_no_stream_and_end(store: FaultyStore, mocker: MockerFixture) -> None:
    """One past the limit is closed at once, the others when they have not begun HTTP/2 in time."""
    mocker.patch.object(ads, "most_connections", return_value=4)
    mocker.patch.object(ads, "HANDSHAKE_SECONDS", 5.0)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(running_xds(store, "gateway"))
        first = await stack.enter_async_context(connected(server.port, incremental=False))
        await first.ask(Type.CLUSTERS)
        await first.answer(await first.received())
        half_open = []
        for _ in range(40):
            half_open.append(await anyio.connect_tcp("127.0.0.1", server.port))
            await stack.enter_async_context(half_open[-1])
        await write(store, cluster("b", 1))
        assert names(await first.received()) == {"a", "b"}
        for stream in half_open:
            await closed_by_the_server(stream)
        second = await stack.enter_async_context(connected(server.port, incremental=False))
        await second.ask(Type.CLUSTERS)
        assert names(await second.received()) == {"a", "b"}


async def test_a_stream_without_a_first_request_is_aborted_and_one_with_it_stays(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Both streams are open before the time is over; a second silent one in the same minute is not logged."""
    over, now, waiting = anyio.Event(), [100.0], []

    async def sleep(seconds: float) -> None:
        waiting.append(seconds)
        await over.wait()

    world = SnapshotCache()
    rejections, figures = RejectionAnalyzer(world), Figures(dict)
    discovery = Discovery(world, rejections, figures, lambda: None, sleep=sleep, clock=lambda: now[0])
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(listening(discovery, "127.0.0.1", 0))
        speaking = await stack.enter_async_context(connected(port, incremental=True))
        await speaking.ask(Type.CLUSTERS)
        assert names(await speaking.received()) == set()
        silent = [await stack.enter_async_context(connected(port, incremental=whole)) for whole in (False, True)]
        await until(lambda: len(waiting) == 3)
        over.set()
        for one in silent:
            with pytest.raises(grpc.aio.AioRpcError, match="no request came within 10 s") as error:
                await one.received()
            assert error.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert waiting == [10.0] * 3
        assert caplog.text.count("no request came within 10 s") == 1
        now[0] += 60.0
        late = await stack.enter_async_context(connected(port, incremental=True))
        with pytest.raises(grpc.aio.AioRpcError):
            await late.received()
        assert caplog.text.count("no request came within 10 s") == 2
        await speaking.ask(Type.LISTENERS)
        assert (await speaking.received()).type_url == Type.LISTENERS
        assert len(world.streams) == 1
