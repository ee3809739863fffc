"""The settings of an upstream, and the name that follows from them (docs/ambassador.md §4.4, §6.5)."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from intentc.compilers.ambassador.settings.module_settings import ModuleSettings
from intentc.compilers.ambassador.settings.traffic import (
    CircuitBreaker,
    HeaderAddition,
    Keepalive,
    LoadBalancer,
)
from intentc.compilers.ambassador.settings.upstream_settings import (
    HealthCheck,
    health_checks,
    load_balancer,
)
from intentc.compilers.ambassador.this_gateway import Unusable
from intentc.compilers.ambassador.upstreams.upstream import Upstream, UpstreamRequest, upstream
from intentc.loading.schemas import load_schema
from intentc.model.values import decode_hook


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


def test_no_text_runs_into_the_next_one() -> None:
    """Defect 8."""
    assert made(cluster_tag="ab", marker="c").name != made(cluster_tag="a", marker="bc").name


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


TYPES = load_schema("ambassador").kind("mapping").types


def value(type_name: str, given: dict[str, Any]) -> Any:
    return msgspec.convert(given, TYPES.struct(type_name), dec_hook=decode_hook)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"policy": "ring_hash"}, "exactly one of"),
        ({"policy": "maglev", "header": "x", "source_ip": True}, "not 2"),
        ({"policy": "least_request", "header": "x"}, "hashes nothing"),
        ({"policy": "random"}, "random"),
        ({"header": "x"}, "policy"),
        ({"policy": "ring_hash", "cookie": {"path": "/"}}, "name"),
        ({"policy": "ring_hash", "cookie": {"name": "a\n"}}, "name"),
        ({"policy": "ring_hash", "cookie": {"name": "a", "path": "/\n"}}, "path"),
        ({"policy": "ring_hash", "cookie": {"name": "a", "ttl": "1s\n"}}, "ttl"),
        ({"policy": "ring_hash", "cookie": {"name": "a", "ttl": "9223372036s"}}, "ttl"),
        ({"policy": "ring_hash", "header": "x\n"}, "header"),
    ],
)
def test_a_load_balancer_that_makes_no_sense_is_rejected(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        load_balancer(value("LoadBalancer", given))


def test_health_checks_over_http_and_grpc() -> None:
    http = {
        "path": "/healthz",
        "hostname": "echo",
        "expected_statuses": [{"min": 200, "max": 299}],
        "add_request_headers": {"x-one": {"value": "1", "append": False}, "x-two": "2"},
        "remove_request_headers": ["x-three"],
    }
    checks = health_checks(
        [
            value("HealthCheck", {"health_check": {"http": http}, "timeout": "250ms", "interval": "1m"}),
            value("HealthCheck", {"health_check": {"grpc": {"upstream_name": "echo", "authority": "a"}}}),
        ]
    )
    assert checks == (
        HealthCheck(
            path="/healthz",
            hostname="echo",
            expected_statuses=((200, 299),),
            add_request_headers=(HeaderAddition("x-one", "1", append=False), HeaderAddition("x-two", "2")),
            remove_request_headers=("x-three",),
            timeout_ms=250,
            interval_ms=60_000,
        ),
        HealthCheck(upstream_name="echo", authority="a"),
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "either"),
        ({"health_check": {"http": {"path": "/"}, "grpc": {"upstream_name": "x"}}}, "either"),
        ({"health_check": {"http": {"path": "/"}}, "timeout": "soon"}, "timeout 'soon'"),
        ({"health_check": {"http": {"path": "/"}}, "interval": "0s"}, "interval '0s'"),
        ({"health_check": {"http": {"path": "/"}}, "healthy_threshold": 0}, "from 1 to"),
        ({"health_check": {"http": {"path": "/"}}, "unhealthy_threshold": 2**32}, "from 1 to"),
        ({"health_check": {"http": {"path": "/a b"}}}, "path"),
        ({"health_check": {"http": {"path": "/", "expected_statuses": [{"min": 300, "max": 200}]}}}, "300-200"),
        ({"health_check": {"http": {"path": "/", "add_request_headers": {"a b": "c"}}}}, "a b"),
        ({"health_check": {"http": {"path": "/", "add_request_headers": {"a\n": "c"}}}}, "name"),
        ({"health_check": {"http": {"path": "/", "add_request_headers": {"a": "c\n"}}}}, "characters"),
        ({"health_check": {"http": {"path": "/", "add_request_headers": {"host": "c"}}}}, "host"),
        ({"health_check": {"http": {"path": "/", "add_request_headers": {"a": "%NO%"}}}}, "%NO%"),
        ({"health_check": {"http": {"path": "/", "add_request_headers": {f"h{n}": "" for n in range(1000)}}}}, "999"),
        ({"health_check": {"http": {"path": "/", "remove_request_headers": ["host"]}}}, "host"),
        ({"health_check": {"http": {"path": "/", "remove_request_headers": [":path"]}}}, ":path"),
        ({"health_check": {"http": {"path": "/", "remove_request_headers": ["a\n"]}}}, "not a header name"),
        ({"health_check": {"http": {"path": "/", "hostname": "h\n"}}}, "characters"),
        ({"health_check": {"grpc": {"upstream_name": "a\n"}}}, "characters"),
        ({"health_check": {"grpc": {"upstream_name": "a", "authority": "b\n"}}}, "characters"),
        ({"health_check": {"http": {"path": "/"}}, "timeout": "9223372036s"}, "timeout"),
        ({"health_check": {"http": {"path": "/"}}, "timeout": "9" * 400 + "h"}, "timeout"),
    ],
)
def test_a_health_check_that_makes_no_sense_is_rejected(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=r"^health_checks") as rejected:
        health_checks([value("HealthCheck", given)])
    assert said in str(rejected.value)
