"""The limits of one client, and that exceeding them affects no other client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import grpc.aio
import pytest
from envoy.service.discovery.v3 import discovery_pb2
from prometheus_client import generate_latest
from pytest_mock import MockerFixture

from intentc.bridges.xds import client_limits
from intentc.bridges.xds.dialects import Dialect, Incremental, StateOfTheWorld
from intentc.bridges.xds.draining import Draining
from intentc.bridges.xds.elements import Type
from intentc.bridges.xds.rejections import RejectionAnalyzer
from intentc.bridges.xds.served import Resource
from intentc.bridges.xds.serving import Server, running_xds
from intentc.bridges.xds.session import Request, Response, Session
from intentc.bridges.xds.snapshot_cache import SnapshotCache
from intentc.watch.memory import MemoryStore
from tests.support.envoy.handmade import cluster as written_cluster
from tests.support.envoy.handmade import write
from tests.support.waiting import PATIENCE
from tests.unit.bridges.xds.client import connected, names
from tests.unit.bridges.xds.served_world import ServedWorld, cluster, served, unwant, want

DIALECTS = pytest.mark.parametrize("incremental", [False, True], ids=["state of the world", "incremental"])


@asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    store = MemoryStore()
    await write(store, written_cluster("a", 1))
    async with running_xds(store, "gateway") as server:
        yield server


async def aborted(server: Server, *requests: Any, incremental: bool) -> grpc.aio.AioRpcError:
    """How a stream ends on which ``requests`` are sent; another stream is served before and after."""
    async with (
        connected(server.port, incremental=True) as other,
        connected(server.port, incremental=incremental) as client,
    ):
        await other.ask(Type.CLUSTERS)
        assert names(await other.received()) == {"a"}
        with pytest.raises(grpc.aio.AioRpcError) as error:
            for request in requests:
                await client.send(request)
            while True:
                await client.received()
        await other.ask(Type.LISTENERS)
        assert (await other.received()).type_url == Type.LISTENERS
    return error.value


def asking(kind: Type, *wanted: str, incremental: bool) -> Any:
    if incremental:
        return discovery_pb2.DeltaDiscoveryRequest(type_url=kind, resource_names_subscribe=wanted)
    return discovery_pb2.DiscoveryRequest(type_url=kind, resource_names=wanted)


def figures(server: Server) -> str:
    return generate_latest(server.figures.registry).decode()


@pytest.mark.anyio
@DIALECTS
async def test_too_many_names_in_one_request_end_the_stream(incremental: bool) -> None:
    many = [str(number) for number in range(client_limits.MOST_NAMES + 1)]
    async with serving() as server:
        error = await aborted(server, asking(Type.ROUTES, *many, incremental=incremental), incremental=incremental)
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert error.details() == "a stream may name at most 16384 resources of one type, and this one named 16385"
        assert 'intentc_xds_aborted_streams_total{limit="names"} 1.0' in figures(server)


@pytest.mark.anyio
async def test_ever_new_names_end_the_stream(mocker: MockerFixture) -> None:
    mocker.patch.object(client_limits, "MOST_NAMES", 10)
    requests = [asking(Type.ROUTES, f"{n}", f"{n} too", incremental=True) for n in range(6)]
    async with serving() as server:
        error = await aborted(server, *requests, incremental=True)
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert error.details() == "a stream may name at most 10 resources of one type, and this one named 12"


@pytest.mark.anyio
async def test_names_that_clients_make_up_are_limited_over_all_streams(mocker: MockerFixture) -> None:
    """A stream with few of them goes on, and those that end give their part back."""
    mocker.patch.object(client_limits, "MOST_UNKNOWN_NAMES", 4_000)
    mocker.patch.object(client_limits, "FREE_UNKNOWN_NAMES", 1_000)
    many = asking(Type.ENDPOINTS, *(str(number) for number in range(10)), incremental=True)
    async with serving() as server:
        for _ in range(2):
            async with connected(server.port, incremental=True) as first:
                await first.send(many)
                await first.ask(Type.CLUSTERS)
                assert names(await first.received()) == {"a"}
                error = await aborted(server, many, incremental=True)
                assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
                assert str(error.details()).endswith("take more than 4000 bytes over all streams")
                async with connected(server.port, incremental=True) as modest:
                    await modest.ask(Type.ENDPOINTS, "x", "y")
                    await modest.ask(Type.CLUSTERS)
                    assert names(await modest.received()) == {"a"}
            await no_streams(server)


async def no_streams(server: Server) -> None:
    """Wait until the world has no stream, and none is counted: a stream's place is free a moment after it has left."""
    with anyio.fail_after(PATIENCE):
        while server.cache.streams or server.discovery._streams._of_address:  # noqa: ASYNC110  # nothing notifies a test
            await anyio.sleep(0.002)


def test_names_that_are_given_up_or_known_to_be_gone_count_no_more() -> None:
    world = SnapshotCache(draining=Draining(0.0))
    want(world, cluster("a"))
    world.publish()
    session = session_of(world)
    session.receive(Request(Type.ENDPOINTS, more=("x", "y")))
    session.receive(Request(Type.ENDPOINTS, more=("x",), less=("y",)))
    assert session.unknown_bytes == client_limits.cost("x")
    session.receive(Request(Type.ENDPOINTS, less=("x", "z")))
    assert session.unknown_bytes == 0
    session.receive(Request(Type.CLUSTERS, known={"a": "1.x.1", "former": "1.x.1"}))
    assert session.unknown_bytes == client_limits.cost("former")
    first = session.next()
    assert first is not None
    assert list(first.deleted) == ["former"]
    assert session.unknown_bytes == 0


@pytest.mark.anyio
async def test_too_many_resources_of_a_former_stream_end_the_stream() -> None:
    known = {str(number): "1.x.1" for number in range(client_limits.MOST_NAMES + 1)}
    request = discovery_pb2.DeltaDiscoveryRequest(type_url=Type.CLUSTERS, initial_resource_versions=known)
    async with serving() as server:
        error = await aborted(server, request, incremental=True)
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.anyio
@pytest.mark.parametrize("size", [client_limits.LARGEST_REQUEST + 1, client_limits.LARGEST_REQUEST // 2])
async def test_millions_of_fields_end_the_stream(size: int) -> None:
    """Below the limit in bytes by that in fields, above it by gRPC itself."""
    request = discovery_pb2.DeltaDiscoveryRequest(type_url=Type.ROUTES, resource_names_subscribe=[""] * (size // 2))
    async with serving() as server:
        error = await aborted(server, request, incremental=True)
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert str(client_limits.LARGEST_REQUEST) in str(error.details()) or "49216 fields" in str(error.details())


@pytest.mark.anyio
@DIALECTS
async def test_a_long_name_ends_the_stream(incremental: bool) -> None:
    request = asking(Type.ROUTES, "x" * (client_limits.LONGEST_NAME + 1), incremental=incremental)
    async with serving() as server:
        error = await aborted(server, request, incremental=incremental)
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert error.details() == "a resource name has 2049 characters; at most 2048 are allowed"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (
            discovery_pb2.DeltaDiscoveryRequest(type_url=Type.CLUSTERS, initial_resource_versions={"a": "x" * 257}),
            "a version has 257 characters; at most 256 are allowed",
        ),
        (
            discovery_pb2.DeltaDiscoveryRequest(type_url=Type.CLUSTERS, response_nonce="x" * 100_000),
            "a field of the request has 100004 bytes; at most 65536 are allowed",
        ),
    ],
    ids=["version", "nonce"],
)
async def test_other_long_fields_end_the_stream(request_: Any, why: str) -> None:
    async with serving() as server:
        error = await aborted(server, request_, incremental=True)
        assert (error.code(), error.details()) == (grpc.StatusCode.INVALID_ARGUMENT, why)


@pytest.mark.anyio
@DIALECTS
async def test_the_name_that_an_envoy_claims_is_not_read(incremental: bool) -> None:
    async with serving() as server, connected(server.port, incremental=incremental) as envoy:
        request = asking(Type.CLUSTERS, incremental=incremental)
        request.node.id = "x" * 1_000_000
        await envoy.send(request)
        assert names(await envoy.received()) == {"a"}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("limit", "why"),
    [
        ("MOST_STREAMS", "3 streams are open, and more are not accepted"),
        ("MOST_STREAMS_OF_ADDRESS", "3 streams from ipv4:127.0.0.1 are open, and more are not accepted"),
    ],
)
async def test_more_streams_than_allowed_are_rejected(limit: str, why: str, mocker: MockerFixture) -> None:
    mocker.patch.object(client_limits, limit, 3)
    async with serving() as server:
        for _ in range(2):  # the places of those that ended are free again
            async with AsyncExitStack() as stack:
                for _ in range(3):
                    envoy = await stack.enter_async_context(connected(server.port, incremental=True))
                    await envoy.ask(Type.CLUSTERS)
                    await envoy.received()
                late = await stack.enter_async_context(connected(server.port, incremental=True))
                with pytest.raises(grpc.aio.AioRpcError) as error:
                    await late.received()
                assert (error.value.code(), error.value.details()) == (grpc.StatusCode.RESOURCE_EXHAUSTED, why)
            await no_streams(server)


@pytest.mark.anyio
async def test_a_client_that_does_not_read_is_disconnected(mocker: MockerFixture) -> None:
    mocker.patch.object(client_limits, "UNREAD_SECONDS", 0.5)
    store = MemoryStore()
    await write(store, *(written_cluster(f"c{n}", 1, alt_stat_name="x" * 1_000_000) for n in range(40)))
    async with running_xds(store, "gateway") as server, connected(server.port, incremental=True) as client:
        await client.ask(Type.CLUSTERS)
        with anyio.fail_after(PATIENCE):
            while 'limit="unread"} 1.0' not in figures(server) or server.cache.streams:  # noqa: ASYNC110  # as above
                await anyio.sleep(0.01)
        with pytest.raises(grpc.aio.AioRpcError, match=r"a response was not read within 0\.5 s") as error:
            while True:
                await client.received()
        assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def session_of(world: SnapshotCache, *, whole: bool = False) -> Session:
    session = Session(world, RejectionAnalyzer(world), whole=whole, clock=lambda: 0.0)
    world.streams.add(session)
    return session


def test_names_that_a_client_brings_leave_nothing_behind() -> None:
    """Each stream brings other clusters; with the last of them nothing of them is kept."""
    world = SnapshotCache(draining=Draining(600.0, lambda: 0.0))
    want(world, cluster("a"))
    world.publish()
    for number in range(3):
        session = session_of(world)
        session.receive(Request(Type.CLUSTERS, known={f"{number}-{n}": "1.x.1" for n in range(100)}))
        first = session.next()
        assert first is not None
        assert not first.deleted
        session.receive(Request(Type.CLUSTERS, nonce=first.nonce))
        assert session.next() is None
        assert session.patience() == 600.0
        world.streams.discard(session)
        world.publish()
    assert world.draining.wait() is None
    assert world.served.changed_since(Type.CLUSTERS, 0) == ["a"]


def test_memory_of_deleted_clusters_is_bounded_and_streams_still_get_the_deletions() -> None:
    bench = ServedWorld()
    world = bench.world
    want(world, cluster("stays"), cluster("goes"))
    world.publish()
    seen = world.serial
    both = [session_of(world, whole=whole) for whole in (False, True)]
    for session in both:
        session.receive(Request(Type.CLUSTERS))
        first = session.next()
        assert first is not None
        session.receive(Request(Type.CLUSTERS, nonce=first.nonce))
        assert session.next() is None
    unwant(world, cluster("goes"))
    served(world, Type.CLUSTERS)
    for number in range(3_000):
        want(world, cluster(str(number)))
        world.publish()
        unwant(world, cluster(str(number)))
        world.publish()
    assert world.served.changed_since(Type.CLUSTERS, seen) is None
    recent = world.served.changed_since(Type.CLUSTERS, world.serial - 1_000)
    assert recent is not None
    assert len(recent) == 500
    incremental, whole = (session.next() for session in both)
    assert incremental is not None
    assert (list(incremental.resources), list(incremental.deleted)) == ([], ["goes"])
    assert whole is not None
    assert [one.name for one in whole.resources] == ["stays"]


def request_bytes(whole: bool, number: int) -> tuple[Dialect, bytes]:
    wanted = [f"name {n}" for n in range(number)]
    if whole:
        request = discovery_pb2.DiscoveryRequest(type_url=Type.ENDPOINTS, resource_names=wanted, response_nonce="7")
        return StateOfTheWorld(), request.SerializeToString()
    delta = discovery_pb2.DeltaDiscoveryRequest(
        type_url=Type.ENDPOINTS,
        resource_names_subscribe=wanted,
        initial_resource_versions=dict.fromkeys(wanted, "1.x.1"),
        response_nonce="7",
    )
    return Incremental(), delta.SerializeToString()


@pytest.mark.parametrize("whole", [False, True])
def test_a_long_request_is_read_and_taken_in_in_parts(whole: bool) -> None:
    dialect, message = request_bytes(whole, 10_000)
    reading, parts = dialect.reading(message, 10_000), 0
    while True:
        try:
            next(reading)
        except StopIteration as end:
            request = end.value
            break
        parts += 1
    assert parts >= 5
    assert isinstance(request, Request)
    assert len(request.names or request.more) == 10_000
    assert len(request.known) == (0 if whole else 10_000)
    assert request.nonce == "7"
    world = ServedWorld().world
    session = session_of(world, whole=whole)
    taking = 0
    for _ in session.receiving(request):
        taking += 1
        assert session.next() is None, "half a request is not answered"
    assert taking >= 9


@pytest.mark.parametrize("dialect", [StateOfTheWorld(), Incremental()], ids=["state of the world", "incremental"])
def test_a_long_response_is_written_in_parts(dialect: Dialect) -> None:
    resources = [Resource(f"c{n}", "1.x.1", b"\x0a\x01x") for n in range(5_000)]
    writing, parts = dialect.writing(Response(Type.CLUSTERS, "7", "1.x.1", resources)), 0
    with pytest.raises(StopIteration) as end:
        while True:
            next(writing)
            parts += 1
    assert parts == 5
    message = discovery_pb2.DiscoveryResponse() if dialect.whole else discovery_pb2.DeltaDiscoveryResponse()
    message.ParseFromString(end.value.value)
    assert (len(message.resources), message.nonce) == (5_000, "7")


def test_what_an_envoy_newly_asks_for_is_sent_in_parts() -> None:
    world = ServedWorld().world
    session = session_of(world)
    session.receive(Request(Type.ROUTES, more=tuple(f"{n}" for n in range(2_500))))
    sizes = []
    while (response := session.next()) is not None:
        sizes.append(len(response.resources))
        session.receive(Request(Type.ROUTES, nonce=response.nonce))
    assert sizes == [500] * 5


def test_what_an_envoy_has_accepted_is_compared_once(mocker: MockerFixture) -> None:
    """Not for each name that it brings: that took minutes for ten thousand clusters after a restart."""
    bench = ServedWorld()
    world = bench.world
    want(world, *(cluster(f"c{n}") for n in range(500)))
    world.publish()
    carriers = mocker.spy(SnapshotCache, "_carriers")
    session = session_of(world)
    session.receive(Request(Type.CLUSTERS, known={f"c{n}": "1.before.1" for n in range(500)}))
    assert not world.trial(Type.CLUSTERS, None)
    assert carriers.call_count < 2_000


def test_a_long_rejection_is_cut_off() -> None:
    request = discovery_pb2.DiscoveryRequest(type_url=Type.CLUSTERS)
    request.error_detail.message = "x" * 60_000
    reading = StateOfTheWorld().reading(request.SerializeToString(), 1)
    with pytest.raises(StopIteration) as end:
        while True:
            next(reading)
    assert end.value.value.error == "x" * client_limits.LONGEST_MESSAGE


@pytest.mark.parametrize("message", [b"\x1a", b"\x1a\xff", b"\x0b", b"\x1a\x05ab", b"\xff" * 20, b"\x1a\x01\xff"])
def test_what_is_no_request_is_rejected(message: bytes) -> None:
    for dialect in (StateOfTheWorld(), Incremental()):
        with pytest.raises(ValueError, match=r"field|number|no D"):
            list(dialect.reading(message, 10))
