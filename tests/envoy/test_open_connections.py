"""No request on an open connection fails while the gateway's services change or are deleted.

Envoy keeps the filter chain with which a connection was accepted until its drain time is over: what that chain asks
must be there as long.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from tests.envoy.backends import Answer, Seen, backend
from tests.envoy.gateway_system import CONFIGURATION, GatewaySystem
from tests.envoy.grpc_services import grpc_services
from tests.envoy.manifests import Manifest, ambassador, host, listener, mapping, service
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.envoy, pytest.mark.etcd, pytest.mark.http]

CONNECTIONS = 8
REQUESTS = 400
"""That are answered after each change."""
PAUSE = 0.002
"""Seconds between an answer and the next request: every connection asks during each change, and nobody spins."""


class Load:
    """Requests, one after the other, on connections that stay open. ``answered``: service (or status, ``connection
    lost``, ``connection refused``) → how often."""

    def __init__(self, port: int, path: str) -> None:
        self.answered: Counter[str] = Counter()
        self._open = CONNECTIONS
        self._port = port
        self._request = f"GET {path} HTTP/1.1\r\nhost: gateway.test\r\nauthorization: sesame\r\n\r\n".encode()

    async def more(self, count: int = REQUESTS) -> None:
        """Return when ``count`` more requests are answered, or nobody asks any more."""
        enough = self.answered.total() + count
        with anyio.fail_after(PATIENCE):
            while self._open and self.answered.total() < enough:  # noqa: ASYNC110 - counted by the other tasks
                await anyio.sleep(0.005)

    async def run(self) -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            except ConnectionRefusedError:
                self.answered["connection refused"] += 1
                self._open -= 1
                return
            try:
                while await self._ask(reader, writer):  # noqa: ASYNC110 - a load with a pace, no wait
                    await anyio.sleep(PAUSE)
            finally:
                writer.close()

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether Envoy leaves the connection open."""
        writer.write(self._request)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.answered["connection lost"] += 1
            return False
        body = await reader.readexactly(int(head.partition("content-length:")[2].split("\r\n")[0] or 0))
        status = int(head.split(" ")[1])
        self.answered[json.loads(body)["service"] if status == 200 else f"status {status}"] += 1
        return "connection: close" not in head


@asynccontextmanager
async def loaded(live: GatewaySystem, path: str = "/") -> AsyncIterator[Load]:
    """A load at the test's Listener, with every connection in use; ended with the block."""
    load = Load(live.port, path)
    async with anyio.create_task_group() as group:
        for _ in range(CONNECTIONS):
            group.start_soon(load.run)
        await load.more()
        yield load
        group.cancel_scope.cancel()


def guard(seen: Seen) -> Answer:
    return Answer(200 if seen.headers.get("authorization") == "sesame" else 401, {})


def gateway(live: GatewaySystem, port: int, **spec: object) -> list[Manifest]:
    return [listener("web", live.port), host("all"), *service("one", port), mapping("all", "/", "one", **spec)]


async def test_an_auth_service_that_changes_and_is_deleted_fails_no_request(live: GatewaySystem) -> None:
    async with backend("one") as one, backend("guard", guard) as guarding, backend("other", guard) as other:
        # Found by their Endpoints, which Envoy is sent on their own.
        await live.apply(
            gateway(live, one.port),
            ambassador("Module", "ambassador", config={"resolver": "endpoint"}),
            service("guard", guarding.port),
            service("other", other.port),
            ambassador("AuthService", "auth", auth_service="guard"),
        )
        async with loaded(live) as load:
            for changed in ({"auth_service": "other"}, {"auth_service": "guard"}, {"auth_service": "other:80"}):
                await live.apply(ambassador("AuthService", "auth", **changed))
                await load.more()
            with anyio.fail_after(PATIENCE):
                while not other.seen:  # connections that stand go by what was in force, until Envoy closes them
                    await load.more()
            await live.delete(ambassador("AuthService", "auth", auth_service="other"), service("other", other.port))
            await load.more()
        assert load.answered.keys() == {"one"}, load.answered
        assert live.problems == []
        assert other.seen


async def test_a_listener_that_is_deleted_answers_on_open_connections(live: GatewaySystem) -> None:
    async with backend("one") as one:
        await live.apply(gateway(live, one.port), listener("spare", live.secure_port))
        async with loaded(live) as load:
            before = load.answered["one"]
            await live.delete(listener("web", live.port))
            await load.more(50)
        # Envoy asks clients to close more and more of them; nobody is there for new ones.
        assert load.answered.keys() <= {"one", "connection refused"}, load.answered
        assert load.answered["one"] > before


async def test_envoy_drains_for_as_long_as_the_configuration_says(live: GatewaySystem) -> None:
    _, info = live.gateway.envoy.ask("/server_info")
    drain_time = json.loads(info)["command_line_options"]["drain_time"]
    assert drain_time == f"{CONFIGURATION.intentc.envoy.drain_time:g}s"


async def test_services_that_are_asked_by_grpc_fail_no_request_when_they_are_deleted(live: GatewaySystem) -> None:
    async with backend("one") as one, grpc_services() as asked:
        limit = {"shop": [{"all": [{"generic_key": {"value": "all"}}]}]}
        spec: dict[str, object] = {"service": f"127.0.0.1:{asked.port}", "protocol_version": "v3"}
        services = [
            ambassador("RateLimitService", "limits", **spec, domain="shop", failure_mode_deny=True, timeout_ms=60_000),
            ambassador("LogService", "log", **spec, driver="http"),
            ambassador("TracingService", "tracing", service=f"127.0.0.1:{asked.port}", driver="zipkin"),
        ]
        await live.apply(
            gateway(live, one.port, labels=limit),
            *services,
        )
        async with loaded(live) as load:
            await live.delete(*services)
            await load.more()
        assert load.answered.keys() == {"one"}, load.answered
        assert asked.counted
        assert "x-b3-parentspanid" in one.seen[0].headers, "the upstream call has a span of its own"
