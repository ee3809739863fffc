"""Services of the gateway that Envoy asks by gRPC: rate limits, authorization, the access log."""

from __future__ import annotations

import anyio
import pytest

from tests.envoy.backends import backend
from tests.envoy.gateway_system import GatewaySystem
from tests.envoy.grpc_services import grpc_services
from tests.envoy.manifests import Manifest, ambassador, host, listener, mapping, service
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.envoy, pytest.mark.etcd, pytest.mark.http]

TENANT = {"key": "tenant", "header_name": "x-tenant", "omit_if_not_present": True}
PLAN = {"key": "plan", "value": "free"}
BY_TENANT = {"shop": [{"tenants": [{"generic_key": PLAN}, {"request_headers": TENANT}]}]}


def serving(live: GatewaySystem, port: int, guard: int) -> list[Manifest]:
    return [
        listener("web", live.port),
        host("all"),
        *service("echo", port),
        *service("guard", guard),
        ambassador("Module", "ambassador", config={"resolver": "endpoint"}),
    ]


def rate_limit_service(**spec: object) -> Manifest:
    """It has a minute to answer in place of 20 ms, after which Envoy would not limit."""
    usual = {"service": "guard", "protocol_version": "v3", "domain": "shop", "timeout_ms": 60_000}
    return ambassador("RateLimitService", "limits", **{**usual, **spec})


async def test_requests_are_counted_by_their_labels_and_limited(live: GatewaySystem) -> None:
    async with backend("echo") as echo, grpc_services() as asked:
        await live.apply(
            serving(live, echo.port, asked.port),
            rate_limit_service(),
            mapping("all", "/", "echo", labels=BY_TENANT),
        )
        assert live.problems == []
        assert await live.service("/", x_tenant="modest") == "echo"
        assert await live.service("/", x_tenant="greedy") == "status 429"
        assert await live.service("/") == "echo"
        assert asked.counted == [{"plan": "free", "tenant": "modest"}, {"plan": "free", "tenant": "greedy"}]


async def test_a_rate_limit_service_that_does_not_answer_limits_nothing_unless_it_says_so(
    live: GatewaySystem, dead_port: int
) -> None:
    async with backend("echo") as echo:
        await live.apply(
            serving(live, echo.port, dead_port),
            rate_limit_service(),
            mapping("all", "/", "echo", labels=BY_TENANT),
        )
        assert await live.service("/", x_tenant="greedy") == "echo"
        await live.apply(rate_limit_service(failure_mode_deny=True))
        assert await live.service("/", x_tenant="modest") == "status 500"


async def test_requests_are_checked_by_grpc(live: GatewaySystem) -> None:
    async with backend("echo") as echo, grpc_services() as asked:
        await live.apply(
            serving(live, echo.port, asked.port),
            ambassador("AuthService", "auth", auth_service="guard", proto="grpc", protocol_version="v3"),
            mapping("all", "/", "echo"),
        )
        assert await live.service("/", x_who="friend") == "echo"
        assert await live.service("/") == "status 403"
        assert len(asked.checked) == 2


async def test_the_access_log_goes_to_every_log_service(live: GatewaySystem) -> None:
    async with backend("echo") as echo, grpc_services() as one, grpc_services() as two:
        await live.apply(
            serving(live, echo.port, one.port),
            service("second", two.port),
            ambassador("LogService", "one", service="guard", driver="http", protocol_version="v3"),
            ambassador("LogService", "two", service="second", driver="http", protocol_version="v3"),
            mapping("all", "/", "echo"),
        )
        assert await live.service("/logged") == "echo"
        with anyio.fail_after(PATIENCE):
            await one.has_logged.wait()
            await two.has_logged.wait()
        assert (one.logged, two.logged) == (["/logged"], ["/logged"])
