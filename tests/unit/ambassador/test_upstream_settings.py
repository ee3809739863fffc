"""Load balancers, circuit breakers, keepalive and health checks, from what the schema makes of users' words."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from intentc.compilers.ambassador.settings.traffic import (
    CircuitBreaker,
    Cookie,
    HeaderAddition,
    Keepalive,
    LoadBalancer,
)
from intentc.compilers.ambassador.settings.upstream_settings import (
    HealthCheck,
    circuit_breakers,
    health_checks,
    keepalive,
    load_balancer,
)
from intentc.loading.schemas import load_schema
from intentc.model.values import decode_hook

TYPES = load_schema("ambassador").kind("mapping").types


def value(type_name: str, given: dict[str, Any]) -> Any:
    return msgspec.convert(given, TYPES.struct(type_name), dec_hook=decode_hook)


def test_nothing_said_is_nothing() -> None:
    assert load_balancer(value("LoadBalancer", {})) is None
    assert keepalive(None) is None
    assert circuit_breakers(None) is None
    assert keepalive(value("Keepalive", {})) == Keepalive()
    assert circuit_breakers(()) == ()
    assert health_checks(()) == ()


def test_a_load_balancer_hashes_a_cookie() -> None:
    given = {"policy": "ring_hash", "cookie": {"name": "session", "ttl": "60s"}}
    assert load_balancer(value("LoadBalancer", given)) == LoadBalancer("ring_hash", Cookie("session", "", "60s"))


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


def test_circuit_breakers_distinguish_zero_from_not_set() -> None:
    given: list[dict[str, Any]] = [{"max_connections": 0}, {"priority": "high", "max_retries": 7}]
    assert circuit_breakers(value("CircuitBreaker", each) for each in given) == (
        CircuitBreaker(max_connections=0),
        CircuitBreaker("high", max_retries=7),
    )


def test_a_second_circuit_breaker_of_one_priority_is_rejected() -> None:
    with pytest.raises(ValueError, match="one for each priority"):
        circuit_breakers([value("CircuitBreaker", {"max_requests": number}) for number in (1, 2)])


@pytest.mark.parametrize(
    ("given", "idle_time"), [({"idle_time": 5}, 5), ({"time": 6}, 6), ({"idle_time": 5, "time": 6}, 5)]
)
def test_keepalive_takes_both_names_of_the_idle_time(given: dict[str, int], idle_time: int) -> None:
    """Defect 10."""
    found = keepalive(value("Keepalive", {**given, "interval": 1, "probes": 2}))
    assert found == Keepalive(idle_time=idle_time, interval=1, probes=2)


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
