"""An element that Envoy rejects affects no other, is a problem of the user's resource, and ends when that is fixed."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import anyio
import pytest

from intentc.dev.envoy_gateway import running_gateway
from tests.envoy.backends import backend
from tests.envoy.gateway_system import CONFIGURATION, GatewaySystem
from tests.envoy.manifests import host, listener, mapping, service
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.envoy, pytest.mark.etcd, pytest.mark.http]

REJECTED = ("listener", "live:taken", "RejectedByEnvoy")


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody else listens, so that Envoy can't."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield int(listening.getsockname()[1])


async def until_rejected(live: GatewaySystem, rejected: bool = True) -> None:
    with anyio.fail_after(PATIENCE):
        while (REJECTED in live.problems) is not rejected:  # noqa: ASYNC110 - it comes back through etcd
            await anyio.sleep(0.01)


async def test_a_listener_that_envoy_rejects_leaves_all_else_working(live: GatewaySystem, taken: int) -> None:
    async with backend("blue") as blue, backend("green") as green:
        await live.apply(
            listener("taken", taken),
            listener("web", live.port),
            host("all"),
            service("blue", blue.port),
            service("green", green.port),
            mapping("one", "/one/", "blue"),
        )
        await until_rejected(live)
        assert await live.service("/one/") == "blue"
        (problem,) = [p for p in live.started.service.engine.states.problems(()) if p.reason == "RejectedByEnvoy"
                   and p.kind == "listener"]  # fmt: skip
        assert "Address already in use" in problem.message

        await live.apply(mapping("one", "/one/", "green"))
        assert await live.service("/one/") == "green"
        assert REJECTED in live.problems


async def test_once_fixed_it_works_and_nothing_is_reported_any_more(live: GatewaySystem, taken: int) -> None:
    async with backend("blue") as blue:
        await live.apply(
            listener("taken", taken), host("all"), service("blue", blue.port), mapping("one", "/one/", "blue")
        )
        await until_rejected(live)
        await live.apply(listener("taken", live.port))
        assert await live.service("/one/") == "blue"
        await until_rejected(live, rejected=False)
        assert live.problems == []


async def test_a_second_server_with_an_envoy_of_its_own_gives_it_the_same(live: GatewaySystem) -> None:
    """On one machine the two Envoys share the port."""
    async with backend("blue") as blue:
        await live.apply(
            listener("web", live.port), host("all"), service("blue", blue.port), mapping("one", "/one/", "blue")
        )
        async with running_gateway(live.started.etcd, CONFIGURATION.etcd.path) as second:
            assert f"127.0.0.1:{live.port}" in second.envoy.ask("/listeners")[1]
            assert second.xds.status()["rejected"] == []
