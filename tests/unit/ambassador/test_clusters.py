"""Mappings' upstreams as clusters: their discovery, their settings, and what is left out and reported."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ambassador.clusters import addresses, cluster_of, clusters, resolver
from tests.support.ambassador.mappings import mapping, module

pytestmark = pytest.mark.anyio

HTTP_OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
LOCAL = {"ambassador.allowed_targets": ["127.0.0.0/8", "::1/128", "localhost"]}


def dns(config: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = config["cluster_type"]["typed_config"]
    return {key: value for key, value in found.items() if key != "@type"}


async def test_a_service_is_looked_up_by_its_qualified_name() -> None:
    found = await cluster_of(service="echo")
    assert found.endpoints == [("echo.shop", 80)]
    assert dns(found.only) == {"dns_lookup_family": "V4_ONLY"}
    assert found.only["connect_timeout"] == "3.000s"
    assert not {"transport_socket", "lb_policy", "typed_extension_protocol_options"} & set(found.only)
    assert found.problems == []


async def test_a_service_in_the_gateways_namespace_is_not_qualified() -> None:
    found = await cluster_of(service="echo", settings={"ambassador.namespace": "shop"})
    assert found.endpoints == [("echo", 80)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"enable_ipv6": True}, {"dns_lookup_family": "AUTO"}),
        ({"enable_ipv4": False, "enable_ipv6": True}, {"dns_lookup_family": "V6_ONLY"}),
        ({"respect_dns_ttl": True}, {"dns_lookup_family": "V4_ONLY", "respect_dns_ttl": True}),
        ({"dns_type": "logical_dns"}, {"dns_lookup_family": "V4_ONLY", "all_addresses_in_single_endpoint": True}),
    ],
)
async def test_dns_is_asked_as_the_mapping_says(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    assert dns((await cluster_of(**spec)).only) == expected


async def test_an_address_needs_no_look_up() -> None:
    found = await cluster_of(service="[2001:db8::1]:8080")
    assert found.only["type"] == "STATIC"
    assert found.endpoints == [("2001:db8::1", 8080)]


async def test_envoy_gets_the_settings_of_connections() -> None:
    found = await cluster_of(
        connect_timeout_ms=250,
        cluster_idle_timeout_ms=1000,
        cluster_max_connection_lifetime_ms=2000,
        stats_name="echo-stats",
        circuit_breakers=[{"priority": "high", "max_connections": 0, "max_retries": 7}],
    )
    config = found.only
    assert config["connect_timeout"] == "0.250s"
    assert config["alt_stat_name"] == "echo-stats"
    assert config["circuit_breakers"] == {"thresholds": [{"priority": "HIGH", "max_connections": 0, "max_retries": 7}]}
    assert config["typed_extension_protocol_options"][HTTP_OPTIONS] == {
        "@type": f"type.googleapis.com/{HTTP_OPTIONS}",
        "explicit_http_config": {"http_protocol_options": {}},
        "common_http_protocol_options": {"idle_timeout": "1.000s", "max_connection_duration": "2.000s"},
    }


@pytest.mark.parametrize("field", ["idle_time", "time"])
async def test_keepalive_has_its_idle_time(field: str) -> None:
    """Defect 10."""
    config = (await cluster_of(keepalive={field: 30, "interval": 5, "probes": 3})).only
    expected = {"keepalive_probes": 3, "keepalive_time": 30, "keepalive_interval": 5}
    assert config["upstream_connection_options"] == {"tcp_keepalive": expected}


async def test_grpc_is_spoken_over_http2() -> None:
    options = (await cluster_of(grpc=True)).only["typed_extension_protocol_options"][HTTP_OPTIONS]
    assert options["explicit_http_config"] == {"http2_protocol_options": {}}


async def test_header_names_are_capitalized_if_the_module_says_so() -> None:
    found = await cluster_of(module(proper_case=True))
    options = found.only["typed_extension_protocol_options"][HTTP_OPTIONS]["explicit_http_config"]
    assert options == {"http_protocol_options": {"header_key_format": {"proper_case_words": {}}}}


async def test_two_mappings_with_equal_settings_share_a_cluster_that_names_both() -> None:
    found = await clusters(mapping("a"), mapping("b"))
    (element,) = found.gate.elements("envoy_cluster").values()
    assert {(origin["kind"], origin["name"]) for origin in element["origins"]} == {
        ("mapping", "shop:a"),
        ("mapping", "shop:b"),
    }


async def test_two_mappings_with_other_settings_of_one_service_have_their_own() -> None:
    """Defect 6."""
    found = await clusters(mapping("a", connect_timeout_ms=1000), mapping("b", connect_timeout_ms=2000))
    assert sorted(config["connect_timeout"] for config in found.configs.values()) == ["1.000s", "2.000s"]


async def test_names_that_look_alike_lead_to_different_services() -> None:
    """Defect 6."""
    found = await clusters(mapping("a", service="svc.name"), mapping("b", service="svc_name.name"))
    hosts = {addresses(config["load_assignment"])[0][0] for config in found.configs.values()}
    assert hosts == {"svc.name", "svc_name.name"}


async def test_a_cluster_goes_with_its_last_mapping() -> None:
    found = await clusters(mapping("a"), mapping("b"))
    await found.gate.service.delete(mapping("a"))
    assert len(found.configs) == 1
    await found.gate.service.delete(mapping("b"))
    assert found.configs == {}


@pytest.mark.parametrize("service", ["127.0.0.1:80", "localhost", "169.254.169.254", "metadata.google.internal"])
async def test_a_forbidden_target_has_no_endpoints(service: str) -> None:
    found = await cluster_of(service=service)
    assert found.only["type"] == "STATIC"
    assert found.endpoints == []
    assert found.problems == [("mapping", "shop:m", "ForbiddenTarget")]
    assert "ambassador.allowed_targets" in found.problem.message


async def test_a_service_that_is_named_as_the_gateways_machine_is_reached_by_its_qualified_name() -> None:
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


async def test_a_resolver_that_is_not_there_means_no_endpoints() -> None:
    found = await cluster_of(resolver="mine")
    assert found.endpoints == []
    assert found.problems == [("mapping", "shop:m", "NoResolver")]


async def test_a_problem_of_a_cluster_is_reported_on_all_who_use_it_and_goes_with_its_cause() -> None:
    found = await clusters(mapping("a", resolver="mine"), mapping("b", resolver="mine"))
    assert [problem[1:] for problem in found.problems] == [("shop:a", "NoResolver"), ("shop:b", "NoResolver")]
    await found.gate.apply(resolver("KubernetesServiceResolver", "mine"))
    assert found.problems == []
    assert found.endpoints == [("echo.shop", 80)]


@pytest.mark.parametrize("name", ["consul", "mine"])
async def test_a_consul_resolver_is_reported_as_unsupported(name: str) -> None:
    found = await cluster_of(resolver("ConsulResolver", "mine", address="consul:8500", datacenter="dc1"), resolver=name)
    assert found.endpoints == []
    assert ("mapping", "shop:m", "Unsupported") in found.problems
    assert ("consul_resolver", "shop:mine", "Unsupported") in found.problems


@pytest.mark.parametrize(
    "spec",
    [
        {"load_balancer": {"policy": "least_request"}},
        {"health_checks": [{"health_check": {"http": {"path": "/"}}}]},
    ],
)
async def test_what_needs_endpoints_is_left_out_and_reported_where_a_name_is_all_there_is(spec: dict[str, Any]) -> None:
    found = await cluster_of(**spec)
    assert not {"lb_policy", "health_checks"} & set(found.only)
    assert found.endpoints == [("echo.shop", 80)]
    assert found.problems == [("mapping", "shop:m", "NeedsEndpoints")]


async def test_round_robin_needs_no_endpoints() -> None:
    assert (await cluster_of(load_balancer={"policy": "round_robin"})).problems == []


async def test_without_any_address_family_ipv4_is_used_and_reported() -> None:
    found = await cluster_of(enable_ipv4=False)
    assert dns(found.only) == {"dns_lookup_family": "V4_ONLY"}
    assert found.problems == [("mapping", "shop:m", "NoAddressFamily")]
