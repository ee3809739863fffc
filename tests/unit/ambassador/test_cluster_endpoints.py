"""Upstreams whose endpoints Envoy balances among: Services joined with their Endpoints."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ambassador.clusters import Clusters, cluster_of, clusters, endpoints, resolver, service, subset
from tests.support.ambassador.mappings import mapping, module

pytestmark = pytest.mark.anyio


async def behind(*resources: dict[str, Any], **spec: Any) -> Clusters:
    """The cluster of a Mapping that asks for endpoints."""
    return await cluster_of(*resources, **{"resolver": "endpoint", **spec})


async def test_endpoints_are_sent_by_eds_under_the_clusters_name() -> None:
    found = await behind(service(), endpoints(subset("10.0.0.2", "10.0.0.1")))
    config = found.only
    assert config["type"] == "EDS"
    assert config["eds_cluster_config"] == {"eds_config": {"ads": {}, "resource_api_version": "V3"}}
    assert found.assignments == {config["name"]: [("10.0.0.1", 8080), ("10.0.0.2", 8080)]}
    assert found.problems == []


async def test_a_cluster_found_by_dns_has_no_endpoints_of_its_own() -> None:
    found = await cluster_of(service(), endpoints(subset("10.0.0.1")))
    assert found.assignments == {}


async def test_addresses_that_are_not_ready_take_no_requests() -> None:
    found = await behind(service(), endpoints(subset("10.0.0.1", not_ready=("10.0.0.9",))))
    assert found.endpoints == [("10.0.0.1", 8080)]


async def test_an_address_with_an_interface_is_left_out_and_reported() -> None:
    found = await behind(service(), endpoints(subset("2001:db8::1%eth0", "10.0.0.1")))
    assert found.endpoints == [("10.0.0.1", 8080)]
    assert [reason for *_, reason in found.problems] == ["InvalidAddress"]


async def test_ports_are_joined_by_their_names() -> None:
    ports = ({"name": "http", "port": 80, "targetPort": "web"}, {"name": "admin", "port": 9000, "targetPort": 8080})
    subsets = (subset("10.0.0.1", port=8080, name="http"), subset("10.0.0.1", port=8081, name="admin"))
    found = await behind(service("echo", *ports), endpoints(*subsets), service="echo:9000")
    assert found.endpoints == [("10.0.0.1", 8081)]


async def test_a_pod_may_listen_on_another_port_under_the_same_name() -> None:
    subsets = (subset("10.0.0.1", port=8080, name="http"), subset("10.0.0.2", port=9090, name="http"))
    found = await behind(service("echo", {"name": "http", "port": 80, "targetPort": "web"}), endpoints(*subsets))
    assert found.endpoints == [("10.0.0.1", 8080), ("10.0.0.2", 9090)]


async def test_without_names_the_target_port_decides() -> None:
    two = {"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 8081}, {"port": 8080}]}
    found = await behind(service("echo", {"name": "http", "port": 80, "targetPort": 8080}), endpoints(two))
    assert found.endpoints == [("10.0.0.1", 8080)]


async def test_a_port_of_udp_is_none() -> None:
    found = await behind(service("echo", {"port": 80, "protocol": "UDP"}), endpoints(subset("10.0.0.1", port=80)))
    assert found.endpoints == []
    assert found.problems == [("mapping", "shop:m", "NoPort")]


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


async def test_endpoints_that_come_later_are_taken_in_and_touch_nothing_else() -> None:
    found = await behind(service())
    written = len(found.gate.service.written)
    await found.gate.apply(endpoints(subset("10.0.0.1")))
    assert found.endpoints == [("10.0.0.1", 8080)]
    assert found.problems == []
    # And in the status of the Mapping, whose requests are no longer answered 503.
    assert [str(operation.name) for operation in found.gate.service.written[written:]] == [
        "mapping shop:m",
        f"envoy_endpoints {found.only['name']}",
    ]


async def test_another_service_of_the_same_name_does_not_count() -> None:
    elsewhere = (service(namespace="web"), endpoints(subset("10.9.9.9"), namespace="web"))
    found = await behind(service(), endpoints(subset("10.0.0.1")), *elsewhere)
    assert found.endpoints == [("10.0.0.1", 8080)]
    found = await behind(service(), endpoints(subset("10.0.0.1")), *elsewhere, service="echo.web")
    assert found.endpoints == [("10.9.9.9", 8080)]


async def test_forbidden_addresses_are_left_out_and_reported() -> None:
    found = await behind(service(), endpoints(subset("10.0.0.1", "127.0.0.1", "169.254.169.254")))
    assert found.endpoints == [("10.0.0.1", 8080)]
    assert found.problems == [("mapping", "shop:m", "ForbiddenTarget")]
    assert "127.0.0.1, 169.254.169.254" in found.problem.message


async def test_allowed_addresses_are_not() -> None:
    settings = {"ambassador.allowed_targets": ["127.0.0.0/8"]}
    found = await cluster_of(service(), endpoints(subset("127.0.0.1")), settings=settings, resolver="endpoint")
    assert found.endpoints == [("127.0.0.1", 8080)]
    assert found.problems == []


async def test_what_is_no_address_is_left_out_and_reported_on_the_endpoints() -> None:
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


@pytest.mark.parametrize("name", ["endpoint", "kubernetes-endpoint"])
async def test_the_module_may_choose_the_resolver_and_the_load_balancer(name: str) -> None:
    wanted = module(resolver=name, load_balancer={"policy": "least_request"})
    found = await cluster_of(wanted, service(), endpoints(subset("10.0.0.1")))
    assert (found.only["type"], found.only["lb_policy"]) == ("EDS", "LEAST_REQUEST")


async def test_a_resolver_of_ones_own_namespace_goes_before_others_of_its_name() -> None:
    found = await clusters(
        mapping("m", resolver="mine"),
        resolver("KubernetesServiceResolver", "mine", namespace="a"),
        resolver("KubernetesEndpointResolver", "mine"),
    )
    assert found.only["type"] == "EDS"


async def test_a_resolver_of_another_namespace_is_found_by_its_name() -> None:
    found = await clusters(
        mapping("m", resolver="mine"), resolver("KubernetesEndpointResolver", "mine", namespace="gate")
    )
    assert found.only["type"] == "EDS"


async def test_a_resolver_of_another_gateway_is_none() -> None:
    other = resolver("KubernetesEndpointResolver", "mine", ambassador_id=["other"])
    found = await clusters(mapping("m", resolver="mine"), other)
    assert found.problems == [("mapping", "shop:m", "NoResolver")]
