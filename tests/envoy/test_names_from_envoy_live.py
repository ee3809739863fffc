"""What a live Envoy calls its clusters, listeners, hosts and routes leads back to who asked for them."""

from __future__ import annotations

import re

import pytest

from intentc.bridges.xds.bootstrap import XDS_CLUSTER
from intentc.inspection.finding import called
from intentc.inspection.part_sources import parts_of
from tests.envoy.backends import backend
from tests.envoy.gateway_system import GatewaySystem
from tests.envoy.manifests import ambassador, host, listener, mapping, service

pytestmark = [pytest.mark.anyio, pytest.mark.envoy, pytest.mark.etcd, pytest.mark.http]

_ENVOYS_OWN = re.compile(rf"cluster\.({XDS_CLUSTER}\.|added|active)|(http|listener|vhost)\.admin|http\.async-client")
"""Statistics of what stands in the bootstrap, and of none in particular."""


async def test_each_statistic_of_a_live_envoy_leads_to_the_resource_that_asked_for_it(live: GatewaySystem) -> None:
    async with backend("echo") as echo, backend("auth") as auth:
        await live.apply(
            listener("web", live.port),
            host("all"),
            host("shop", "shop.example"),
            service("echo", echo.port),
            service("auth", auth.port),
            mapping("all", "/", "echo"),
            mapping("counted", "/counted/", "echo", stats_name="orders.by:day"),
            mapping("shop", "/", "echo", hostname="shop.example", timeout_ms=1000),
            ambassador("TCPMapping", "raw", port=live.tcp_port, service="echo", resolver="endpoint"),
            ambassador("Module", "ambassador", config={"resolver": "endpoint"}),
            ambassador("AuthService", "auth", auth_service="auth"),
        )
        assert await live.service("/counted/x") == "echo"
        parts = live.started.service.engine
        found: dict[str, set[str]] = {}
        for statistic in await _statistics(live):
            names = await called(parts, "envoy", statistic)
            assert names, f"{statistic} leads nowhere"
            why = [reason for name in names for reason in parts_of(parts, name)[""]]
            kinds = {source.kind for reason in why for source in reason.sources}
            found.setdefault(statistic.partition(".")[0], set()).update(kinds)
        assert found.keys() >= {"cluster", "http", "tcp", "listener", "vhost"}
        assert found["cluster"] == {"mapping", "auth_service", "tcp_mapping"}
        assert found["vhost"] == {"mapping"}, "Envoy counts for hosts only what their routes ask for"
        (orders,) = {
            source for reason in parts_of(parts, (await called(parts, "envoy", "orders.by:day"))[0])[""]
            for source in reason.sources
        }  # fmt: skip
        assert orders == ("mapping", "live:counted", "service")


async def _statistics(live: GatewaySystem) -> list[str]:
    """One of each thing of which there are statistics, as Envoy names them."""
    _, text = live.gateway.envoy.ask("/stats")
    names = [line.partition(": ")[0] for line in text.splitlines()]
    wanted = [one for one in names if one.startswith(("cluster.", "http.", "tcp.", "listener.", "vhost."))]
    return [one for one in wanted if not _ENVOYS_OWN.match(one)]
