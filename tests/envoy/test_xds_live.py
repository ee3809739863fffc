"""A real Envoy and the xDS server with elements written by hand: what it accepts, and what it rejects."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import anyio
import anyio.to_thread
import msgspec
import pytest

from intentc.bridges.xds.bootstrap import Address, bootstrap
from intentc.bridges.xds.serving import running_xds
from intentc.dev.envoy_server import running_envoy
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put
from tests.envoy.backends import backend
from tests.envoy.handmade_system import HandmadeSystem, ask, reaches
from tests.support.envoy.handmade import (
    cluster,
    eds_cluster,
    element,
    endpoints,
    gone,
    listener,
    route,
    virtual_host,
    write,
)
from tests.support.envoy.held_ports import FreePort
from tests.support.waiting import until_true

pytestmark = [pytest.mark.anyio, pytest.mark.envoy]

BAD_MATCH: dict[str, Any] = {"match": {"safe_regex": {"regex": "("}}}


async def test_requests_are_routed_and_changes_take_effect(either: HandmadeSystem) -> None:
    assert await either.get("/x/") == "a"
    await either.write(route("x", "/x/", "b"))
    await either.answers("/x/", "b")
    await either.write(gone("envoy_route", "x"))
    await either.answers("/x/", "a")


async def test_a_cluster_with_its_endpoints_and_route_comes_live_in_any_order_of_writing(
    either: HandmadeSystem,
) -> None:
    await either.write(route("x", "/x/", "new"))
    await either.write(endpoints("new", either.b))
    assert await either.get("/x/") == "a"
    await either.write(eds_cluster("new"))
    await either.answers("/x/", "b")
    await either.write(endpoints("new", either.a))
    await either.answers("/x/", "a")
    await either.write(eds_cluster("new", connect_timeout="2s"), endpoints("new", either.b))
    await either.answers("/x/", "b")


async def test_a_listener_comes_and_goes(either: HandmadeSystem, free_port: FreePort) -> None:
    port = free_port()
    await either.write(listener("ns/more", port))
    await until_true(lambda: reaches(port, "a"))
    await either.write(gone("envoy_listener", "ns", "more"))
    await until_true(lambda: reaches(port, "nobody"))


async def test_one_bad_route_among_many_hurts_only_itself(either: HandmadeSystem) -> None:
    good = [route(f"r{number}", f"/r{number}/", "b") for number in range(40)]
    await either.write(*good[:20], route("bad", "/bad/", "b", **BAD_MATCH), *good[20:])
    await either.rejects("bad")
    for number in (0, 19, 20, 39):
        await either.answers(f"/r{number}/", "b")
    assert await either.get("/bad/") == "a"
    await either.write(route("later", "/later/", "b"))
    await either.answers("/later/", "b")
    await either.write(route("bad", "/bad/", "b"))
    await either.answers("/bad/", "b")
    await either.rejects()


async def test_a_route_that_turns_bad_stays_as_it_was_good(site: HandmadeSystem) -> None:
    await site.write(route("x", "/x/", "b"))
    await site.answers("/x/", "b")
    await site.write(route("x", "/x/", "b", **BAD_MATCH), route("y", "/y/", "b"))
    await site.rejects("x")
    await site.answers("/y/", "b")
    assert await site.get("/x/") == "b"


async def test_a_bad_virtual_host_hurts_only_its_domain(site: HandmadeSystem) -> None:
    await site.write(virtual_host("bad.test", config={"retry_policy": {"num_retries": 1, "retry_back_off": {}}}))
    await site.write(route("y", "/y/", "b"))
    await site.answers("/y/", "b")
    await site.rejects("ns/http|cleartext:bad.test")


async def test_bad_clusters_hurt_only_themselves_and_the_routes_to_them_answer_503(either: HandmadeSystem) -> None:
    bad: dict[str, Any] = {"load_balancing_policy": {"policies": []}}
    await either.write(cluster("bad1", 1, **bad), cluster("good", either.b), cluster("bad2", 1, **bad))
    await either.write(route("x", "/x/", "bad1"), route("y", "/y/", "good"))
    await either.answers("/y/", "b")
    await either.rejects("bad1", "bad2")
    assert await either.get("/x/") == "503"
    assert either.server.pending() == [{"holder": "envoy_route x", "relation": "envoy_cluster", "target": "bad1"}]
    await either.write(cluster("bad1", either.b))
    await either.answers("/x/", "b")
    await either.rejects("bad2")


async def test_the_requests_of_a_rejected_route_never_fall_to_a_wider_one(either: HandmadeSystem) -> None:
    header = [{"name": "x\n", "present_match": True}]
    many = [{"header": {"key": f"h{number}", "value": "x"}} for number in range(1_100)]
    await either.write(
        route("x", "/x/", "b", request_headers_to_add=many),
        route("y", "/y/", "b", match={"prefix": "/y/", "headers": header}),
    )
    await either.rejects("x", "y")
    await either.answers("/x/", "503")
    await either.answers("/y/", "503")
    await either.answers("/", "a")


async def test_a_bad_listener_hurts_only_itself(either: HandmadeSystem, free_port: FreePort) -> None:
    port = free_port()
    await either.write(listener("ns/bad", free_port(), filter_chains=[]), listener("ns/good", port))
    await until_true(lambda: reaches(port, "a"))
    await either.rejects("ns:bad")


async def test_a_listener_that_is_rejected_with_a_new_guard_does_not_stay_without_it(
    either: HandmadeSystem, free_port: FreePort
) -> None:
    port = free_port()
    await either.write(listener("ns/guarded", port))
    await until_true(lambda: reaches(port, "a"))
    bad = listener("ns/guarded", port, filter_chains=[])
    await either.write(Put(bad.key, msgspec.json.encode(msgspec.json.decode(bad.value) | {"guards": ["auth"]})))
    await either.rejects("ns:guarded")

    async def closed() -> bool:
        return not await reaches(port, "a")

    await until_true(closed)
    await either.answers("/", "a")


async def test_a_bad_secret_hurts_only_itself(site: HandmadeSystem) -> None:
    source = {"ads": {}, "resource_api_version": "V3"}
    kind = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
    names = ("bad", "good")
    for name in names:
        wanted = {"validation_context_sds_secret_config": {"name": name, "sds_config": source}}
        socket = {"name": "tls", "typed_config": {"@type": kind, "common_tls_context": wanted}}
        await site.write(cluster(name, site.b, transport_socket=socket))
    for name in names:
        trusted = {"inline_string": "nonsense"} if name == "bad" else {"filename": "/etc/ssl/certs/ca-certificates.crt"}
        await site.write(
            element("envoy_secret", name, config={"name": name, "validation_context": {"trusted_ca": trusted}})
        )
    await site.rejects("bad")
    await site.write(route("y", "/y/", "b"))
    await site.answers("/y/", "b")


async def test_a_restarted_server_gives_a_new_envoy_the_last_accepted_route(
    site: HandmadeSystem, free_port: FreePort
) -> None:
    await site.write(route("x", "/x/", "b"))
    await site.answers("/x/", "b")
    await site.write(route("x", "/x/", "b", **BAD_MATCH))
    await site.rejects("x")
    port = free_port()
    await site.write(gone("envoy_listener", "ns", "http"), listener("ns/other", port))
    async with (
        running_xds(site.store, "gateway") as server,
        running_envoy(bootstrap(Address("127.0.0.1", server.port))),
    ):
        await until_true(lambda: reaches(port, "a"))
        assert await anyio.to_thread.run_sync(ask, port, "/x/") == "b"
        assert [one["name"] for one in server.status()["rejected"]] == ["x"]


async def test_an_envoy_that_loses_its_server_keeps_serving_and_joins_the_next(
    free_port: FreePort,
) -> None:
    store, port = MemoryStore(), free_port()
    async with backend("a") as a, backend("b") as b:
        await write(store, listener("ns/http", port), virtual_host("*"), cluster("a", a.port), route("root", "/", "a"))
        async with AsyncExitStack() as stack:
            async with running_xds(store, "gateway") as first:
                xds = first.port
                envoy = await stack.enter_async_context(running_envoy(bootstrap(Address("127.0.0.1", xds))))
                site = HandmadeSystem(first, envoy, store, port, a.port, b.port)
                await site.answers("/", "a")
            await write(store, cluster("b", b.port), route("root", "/", "b"), route("bad", "/bad/", "b", **BAD_MATCH))
            assert await site.get("/") == "a"
            async with running_xds(store, "gateway", port=xds):
                await site.answers("/", "b")
                await site.rejects("bad")
