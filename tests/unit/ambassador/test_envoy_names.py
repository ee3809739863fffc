"""What Envoy's own names for its parts mean."""

from __future__ import annotations

import pytest

from intentc.compilers.ambassador.envoy_names import elements_called
from intentc.inspection.finding import called
from intentc.model import Name
from intentc.offline.offline import Offline
from tests.property.gateway_steps import LOADED
from tests.property.gateway_world import manifest, world
from tests.property.gateways import KINDS

pytestmark = pytest.mark.anyio

ROUTED = manifest(
    "Mapping", "counted", {"prefix": "/c/", "hostname": "*", "service": "counted", "stats_name": "orders"}
)


async def _meant(text: str, kind: str = "envoy") -> list[str]:
    offline = Offline(LOADED)
    await offline.seed()
    for one in [*world(), ROUTED]:
        await offline.server.create(KINDS[one["kind"]], one)
    await offline.settle()
    names = await called(offline.engine, kind, text)
    return [f"{name.kind} {_readable(name)}" for name in names]


def _readable(name: Name) -> str:
    """Without the digits that follow from what is in it."""
    head, _, digits = name.fq_name[0].rpartition("-")
    return head if len(digits) == 32 else ":".join(name.fq_name)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("cluster.orders.upstream_rq_5xx", ["envoy_cluster cluster_counted_80"]),
        ("cluster.orders.circuit_breakers.default.cx_open", ["envoy_cluster cluster_counted_80"]),
        ('envoy_cluster_upstream_rq{envoy_cluster_name="orders"}', ["envoy_cluster cluster_counted_80"]),
        ("orders", ["envoy_cluster cluster_counted_80", "envoy_route c"]),
        ("vhost.shop.example.route.orders.upstream_rq_200", ["envoy_route c"]),
        (
            "vhost.bank.example.vcluster.other.upstream_rq_total",
            ["envoy_virtual_host default/front|cleartext:bank.example"],
        ),
        ("listener.0.0.0.0_8443.downstream_cx_total", ["envoy_listener default/front"]),
        ("default/front::0.0.0.0:8443", ["envoy_listener default/front"]),
        ("0.0.0.0:6789", ["envoy_listener tcp-6789"]),
        ("tcp.ingress_tcp_6789.downstream_cx_total", ["envoy_listener tcp-6789"]),
        ("default/front|cleartext", ["envoy_listener default/front"]),
        ("sds.default_certificate|tls.update_success", ["envoy_secret default:certificate|tls"]),
        ("cluster_counted_80", ["envoy_cluster cluster_counted_80"]),
        ("cluster.cluster_counted_80.upstream_rq_5xx", ["envoy_cluster cluster_counted_80"]),
        ('envoy_cluster_upstream_rq{envoy_cluster_name="cluster_counted_80"}', ["envoy_cluster cluster_counted_80"]),
        ("cluster.nobody.upstream_rq", []),
        ("", []),
    ],
)
async def test_a_statistic_or_another_name_of_envoys_leads_to_the_elements(text: str, meant: list[str]) -> None:
    found = await _meant(text)
    assert found[: len(meant)] == meant
    assert bool(found) == bool(meant)


async def test_a_clusters_name_is_found_without_looking_at_all() -> None:
    class Single:
        problems = ()

        def objects(self, kind: str) -> tuple[()]:
            return ()

        def named(self, kind: str, name: str) -> dict[str, str] | None:
            return {"kind": kind} if (kind, name) == ("envoy_cluster", "cluster_echo_80-1f") else None

    found = list(elements_called("cluster.cluster_echo_80-1f.upstream_rq_5xx", Single()))
    assert found == [("envoy_cluster", "cluster_echo_80-1f")]


async def test_a_given_kind_limits_the_meaning_to_its_elements() -> None:
    assert await _meant("orders", "envoy_route") == ["envoy_route c"]
    assert await _meant("orders", "mapping") == []
