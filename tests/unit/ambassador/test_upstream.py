"""Upstreams: the settings that a request results in, and a name that covers all of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from intentc.compilers.ambassador.settings.module_settings import ModuleSettings
from intentc.compilers.ambassador.settings.traffic import CircuitBreaker, Keepalive, LoadBalancer
from intentc.compilers.ambassador.settings.upstream_settings import HealthCheck
from intentc.compilers.ambassador.this_gateway import Unusable
from intentc.compilers.ambassador.upstreams.upstream import Upstream, UpstreamRequest, upstream


def made(service: str = "echo", module: ModuleSettings | None = None, **fields: Any) -> Upstream:
    request = UpstreamRequest(namespace="shop", service=service, **fields)
    return upstream(request, module or ModuleSettings())


SETTINGS: dict[str, Any] = {
    "host": "other",
    "port": 81,
    "service_namespace": "other",
    "namespace": "other",
    "resolver": "endpoint",
    "tls": True,
    "tls_context": "context",
    "sni": "other",
    "grpc": True,
    "proper_case": True,
    "load_balancer": LoadBalancer("maglev", header="x"),
    "circuit_breakers": (CircuitBreaker(max_requests=0),),
    "connect_timeout_ms": 1,
    "idle_timeout_ms": 1,
    "max_connection_lifetime_ms": 1,
    "dns_type": "logical_dns",
    "respect_dns_ttl": True,
    "enable_ipv4": False,
    "enable_ipv6": True,
    "keepalive": Keepalive(probes=1),
    "health_checks": (HealthCheck(path="/"),),
    "stats_name": "other",
    "cluster_tag": "other",
    "marker": "shadow",
}


def test_every_setting_is_known_here() -> None:
    assert set(SETTINGS) == set(Upstream.__struct_fields__)


@pytest.mark.parametrize("field", sorted(SETTINGS))
def test_two_upstreams_that_differ_in_one_setting_have_different_names(field: str) -> None:
    one = made()
    assert msgspec.structs.replace(one, **{field: SETTINGS[field]}).name != one.name


def test_equal_upstreams_have_one_name() -> None:
    one = made("echo:80", connect_timeout_ms=3000, stats_name="echo")
    assert one.name == made("http://Echo", stats_name="echo").name


def test_without_a_name_in_statistics_it_is_the_service_as_written() -> None:
    assert made("quote.default:8080").stats_name == "quote_default_8080"
    assert made("https://Quote-1").stats_name == "https___Quote_1"
    assert made("echo:80").name != made("echo").name, "each has statistics of its own"


def test_names_that_look_the_same_squeezed_are_different() -> None:
    """Defect 6."""
    dotted, underlined = made("svc.name").name, made("svc_name.shop").name
    assert dotted != underlined
    assert dotted.startswith("cluster_svc_name_80-")


def test_no_text_runs_into_the_next_one() -> None:
    """Defect 8."""
    assert made(cluster_tag="ab", marker="c").name != made(cluster_tag="a", marker="bc").name


def test_a_name_is_readable_and_short_whatever_the_host_is() -> None:
    name = made("https://" + ".".join(["long"] * 20), cluster_tag="a tag").name
    assert name.startswith("cluster_a_tag_long_long_")
    assert len(name) == 40 + 1 + 32
    assert made("[2001:db8::1]:80").name.startswith("cluster_2001_db8__1_80-")


@pytest.mark.parametrize(
    ("service", "tls", "port", "speaks"),
    [
        ("echo", "", 80, False),
        ("echo", "false", 80, False),
        ("echo", "true", 443, True),
        ("echo", "context", 443, True),
        ("echo:8443", "context", 8443, True),
        ("https://echo", "", 443, True),
        ("https://echo", "false", 443, True),
        ("http://echo", "true", 443, True),
        ("http://echo", "context", 443, True),
    ],
)
def test_tls_is_spoken_as_soon_as_anything_asks_for_it(service: str, tls: str, port: int, speaks: bool) -> None:
    found = made(service, tls=tls)
    assert (found.port, found.tls) == (port, speaks)


def test_an_unqualified_service_is_looked_up_in_the_namespace_of_the_resource() -> None:
    found = made("echo")
    assert found.dns_name("ambassador") == "echo.shop"
    assert found.service("ambassador") == ("shop", "echo")


def test_a_service_in_the_gateways_namespace_needs_none() -> None:
    found = made("echo")
    assert found.dns_name("shop") == "echo"
    assert found.service("shop") == ("shop", "echo")


def test_the_module_may_say_that_unqualified_services_are_the_gateways() -> None:
    found = made("echo", ModuleSettings(use_ambassador_namespace_for_service_resolution=True))
    assert found.dns_name("ambassador") == "echo"
    assert found.service("ambassador") == ("ambassador", "echo")


@pytest.mark.parametrize(
    ("service", "meant"),
    [
        ("echo.web", ("web", "echo")),
        ("echo.web.svc.cluster.local", ("web", "echo")),
        ("echo.web.svc", ("web", "echo")),
        ("echo.example.com", None),
        ("10.0.0.1", None),
        ("[2001:db8::1]", None),
        ("localhost", None),
    ],
)
def test_a_qualified_host_is_a_service_if_it_is_written_like_one(service: str, meant: tuple[str, str] | None) -> None:
    found = made(service)
    assert found.service("ambassador") == meant
    assert found.dns_name("ambassador") == found.host


def test_a_namespace_does_not_part_what_it_does_not_concern() -> None:
    elsewhere = UpstreamRequest(namespace="web", service="echo.shop")
    assert upstream(elsewhere, ModuleSettings()).name == made("echo.shop").name


@pytest.mark.parametrize("fields", [{"tls": "context"}, {"resolver": "endpoint"}])
def test_a_namespace_parts_upstreams_whose_names_are_looked_up_in_it(fields: dict[str, Any]) -> None:
    elsewhere = UpstreamRequest(namespace="web", service="echo.shop", **fields)
    assert upstream(elsewhere, ModuleSettings()).name != made("echo.shop", **fields).name


def test_the_module_stands_in_for_what_is_not_said() -> None:
    module = ModuleSettings(
        circuit_breakers=(CircuitBreaker(max_requests=1),),
        keepalive=Keepalive(probes=3),
        resolver="endpoint",
        load_balancer=LoadBalancer("least_request"),
        cluster_idle_timeout_ms=5,
        cluster_max_connection_lifetime_ms=6,
        enable_ipv6=True,
        proper_case=True,
    )
    found = made("echo", module)
    assert found.circuit_breakers == module.circuit_breakers
    assert found.keepalive == module.keepalive
    assert (found.resolver, found.load_balancer) == ("endpoint", module.load_balancer)
    assert (found.idle_timeout_ms, found.max_connection_lifetime_ms) == (5, 6)
    assert (found.enable_ipv4, found.enable_ipv6, found.proper_case) == (True, True, True)


def test_a_resource_goes_before_the_module() -> None:
    module = ModuleSettings(resolver="endpoint", enable_ipv6=True, cluster_idle_timeout_ms=5)
    found = made("echo", module, resolver="mine", enable_ipv6=False, cluster_idle_timeout_ms=7)
    assert (found.resolver, found.enable_ipv6, found.idle_timeout_ms) == ("mine", False, 7)


def test_the_modules_load_balancer_is_not_for_upstreams_without_endpoints() -> None:
    assert made("echo", ModuleSettings(load_balancer=LoadBalancer("least_request"))).load_balancer is None


@pytest.mark.parametrize(
    ("rewrite", "asked"),
    [("echo.example", "echo.example"), ("echo.example:8443", "echo.example"), ("10.0.0.1", ""), ("[::1]:80", "")],
)
def test_a_rewritten_host_is_asked_for_in_the_handshake(rewrite: str, asked: str) -> None:
    assert made("https://echo", host_rewrite=rewrite).sni == asked


def test_without_tls_a_rewritten_host_does_not_part_clusters() -> None:
    assert made("echo", host_rewrite="other").name == made("echo").name


@pytest.mark.parametrize(
    ("fields", "reason"),
    [({"service": "echo/path"}, "InvalidService"), ({"dns_type": "static"}, "InvalidDnsType")],
)
def test_what_can_be_no_upstream_is_rejected(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unusable) as rejected:
        made(**fields)
    assert rejected.value.reason == reason
    assert rejected.value.message


@pytest.mark.parametrize("host", ["a" * 256, "a\nb"])
def test_a_name_that_no_handshake_can_ask_for_is_rejected(host: str) -> None:
    with pytest.raises(Unusable, match="host_rewrite"):
        upstream(UpstreamRequest(namespace="shop", service="https://echo", host_rewrite=host), ModuleSettings())
