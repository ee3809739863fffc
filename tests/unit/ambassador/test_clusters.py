"""Clusters of upstreams: their settings, their endpoints, and what is never reached (docs/ambassador.md §4.4, §5.7)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ambassador.clusters import Clusters, cluster_of, clusters, endpoints, resolver, service, subset
from tests.support.ambassador.mappings import mapping, module

pytestmark = pytest.mark.anyio


HTTP_OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
LOCAL = {"ambassador.allowed_targets": ["127.0.0.0/8", "::1/128", "localhost"]}


def dns(config: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = config["cluster_type"]["typed_config"]
    return {key: value for key, value in found.items() if key != "@type"}


async def test_header_names_are_capitalized_if_the_module_says_so() -> None:
    found = await cluster_of(module(proper_case=True))
    options = found.only["typed_extension_protocol_options"][HTTP_OPTIONS]["explicit_http_config"]
    assert options == {"http_protocol_options": {"header_key_format": {"proper_case_words": {}}}}


@pytest.mark.parametrize("service", ["127.0.0.1:80", "localhost", "169.254.169.254", "metadata.google.internal"])
async def test_a_forbidden_target_has_no_endpoints(service: str) -> None:
    found = await cluster_of(service=service)
    assert found.only["type"] == "STATIC"
    assert found.endpoints == []
    assert found.problems == [("mapping", "shop:m", "ForbiddenTarget")]
    assert "ambassador.allowed_targets" in found.problem.message


async def test_a_service_named_like_the_machine_has_a_qualified_name() -> None:
    own = {"ambassador.namespace": "shop"}
    nobody = await cluster_of(service="ip6-localhost", settings=own)
    assert nobody.problems == [("mapping", "shop:m", "ForbiddenTarget")]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "ip6-localhost", "namespace": "shop"}}
    found = await cluster_of({**service, "spec": {"ports": [{"port": 80}]}}, service="ip6-localhost", settings=own)
    assert (found.endpoints, found.problems) == ([("ip6-localhost.shop", 80)], [])


@pytest.mark.parametrize("service", ["127.0.0.1", "localhost", "[::1]"])
async def test_what_the_configuration_allows_is_reached(service: str) -> None:
    found = await cluster_of(service=f"{service}:8080", settings=LOCAL)
    assert found.endpoints == [(service.strip("[]"), 8080)]
    assert found.problems == []


async def test_without_any_address_family_ipv4_is_used_and_reported() -> None:
    found = await cluster_of(enable_ipv4=False)
    assert dns(found.only) == {"dns_lookup_family": "V4_ONLY"}
    assert found.problems == [("mapping", "shop:m", "NoAddressFamily")]


async def behind(*resources: dict[str, Any], **spec: Any) -> Clusters:
    """The cluster of a Mapping that asks for endpoints."""
    return await cluster_of(*resources, **{"resolver": "endpoint", **spec})


async def test_without_names_the_target_port_decides() -> None:
    two = {"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 8081}, {"port": 8080}]}
    found = await behind(service("echo", {"name": "http", "port": 80, "targetPort": 8080}), endpoints(two))
    assert found.endpoints == [("10.0.0.1", 8080)]


@pytest.mark.parametrize(
    ("resources", "spec", "reason"),
    [
        ((), {}, "NoService"),
        ((), {"service": "echo.example.com"}, "NoService"),
        ((service(),), {}, "NoEndpoints"),
        ((service(), endpoints()), {}, "NoEndpoints"),
        ((service(), endpoints(subset("10.0.0.1"))), {"service": "echo:81"}, "NoPort"),
    ],
)
async def test_where_there_are_no_endpoints_the_mapping_is_reported_why(
    resources: tuple[dict[str, Any], ...], spec: dict[str, Any], reason: str
) -> None:
    found = await behind(*resources, **spec)
    assert found.only["type"] == "EDS"
    assert found.endpoints == []
    assert found.problems == [("mapping", "shop:m", reason)]


async def test_forbidden_addresses_are_left_out_and_reported() -> None:
    found = await behind(service(), endpoints(subset("10.0.0.1", "127.0.0.1", "169.254.169.254")))
    assert found.endpoints == [("10.0.0.1", 8080)]
    assert found.problems == [("mapping", "shop:m", "ForbiddenTarget")]
    assert "127.0.0.1, 169.254.169.254" in found.problem.message


async def test_an_invalid_address_is_left_out_and_reported_on_the_endpoints() -> None:
    found = await behind(service(), endpoints(subset("10.0.0.1", "not-an-address"), subset("10.0.0.2", port=70000)))
    assert found.endpoints == [("10.0.0.1", 8080)]
    assert found.problems == [("endpoints", "shop:echo", "InvalidAddress"), ("endpoints", "shop:echo", "InvalidPort")]


async def test_health_checks_may_be_several() -> None:
    """Defect 11."""
    checks = [
        {"health_check": {"http": {"path": "/a", "expected_statuses": [{"min": 200, "max": 204}]}}},
        {"health_check": {"http": {"path": "/b", "add_request_headers": {"x-a": {"value": "1", "append": False}}}}},
    ]
    config = (await behind(service(), endpoints(subset("10.0.0.1")), health_checks=checks)).only
    first, second = config["health_checks"]
    assert first["name"] != second["name"]
    assert (first["timeout"], first["interval"]) == ("3.000s", "5.000s")
    assert (first["healthy_threshold"], first["unhealthy_threshold"]) == (1, 2)
    assert first["http_health_check"] == {"path": "/a", "expected_statuses": [{"start": 200, "end": 205}]}
    (header,) = second["http_health_check"]["request_headers_to_add"]
    assert header == {"header": {"key": "x-a", "value": "1"}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}


async def test_a_check_over_grpc_needs_grpc() -> None:
    checks = [{"health_check": {"grpc": {"upstream_name": "echo", "authority": "a"}}}]
    pods = (service(), endpoints(subset("10.0.0.1")))
    found = await behind(*pods, health_checks=checks, grpc=True)
    assert found.only["health_checks"][0]["grpc_health_check"] == {"service_name": "echo", "authority": "a"}
    assert found.problems == []
    found = await behind(*pods, health_checks=checks)
    assert "health_checks" not in found.only
    assert found.problems == [("mapping", "shop:m", "InvalidHealthCheck")]


@pytest.mark.parametrize(
    ("balancer", "policy"),
    [
        ({"policy": "round_robin"}, "ROUND_ROBIN"),
        ({"policy": "least_request"}, "LEAST_REQUEST"),
        ({"policy": "ring_hash", "header": "x-user"}, "RING_HASH"),
        ({"policy": "maglev", "source_ip": True}, "MAGLEV"),
    ],
)
async def test_envoy_gets_the_load_balancer(balancer: dict[str, Any], policy: str) -> None:
    found = await behind(service(), endpoints(subset("10.0.0.1")), load_balancer=balancer)
    assert found.only["lb_policy"] == policy
    assert found.problems == []


async def test_a_resolver_of_another_gateway_is_none() -> None:
    other = resolver("KubernetesEndpointResolver", "mine", ambassador_id=["other"])
    found = await clusters(mapping("m", resolver="mine"), other)
    assert found.problems == [("mapping", "shop:m", "NoResolver")]
