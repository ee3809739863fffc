"""What a Mapping does with requests, field by field, as Envoy's JSON (docs/ambassador.md §4.3, §4.5)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ambassador.hosts import manifest
from tests.support.ambassador.mappings import mapping, module, routes

pytestmark = pytest.mark.anyio

RATE_LIMIT = manifest("RateLimitService", "limits", {"service": "limits:9000", "protocol_version": "v3"}, "ambassador")


async def test_the_linkerd_header_names_the_service() -> None:
    found = await routes(mapping("m", service="echo.shop:8080", add_linkerd_headers=True))
    (added,) = found.only["request_headers_to_add"]
    assert added["header"] == {"key": "l5d-dst-override", "value": "echo.shop:8080"}
    assert added["append_action"] == "OVERWRITE_IF_EXISTS_OR_ADD"


# Settings of filters


async def test_v2_says_labels_in_short_forms() -> None:
    by_user = {"user": {"header": "x-user", "omit_if_not_present": True}}
    labels = {"ambassador": [{"g": ["remote_address", "text", {"generic_key": "x"}, by_user]}]}
    found = await routes(RATE_LIMIT, mapping("m", version="v2", labels=labels))
    assert found.only["route"]["rate_limits"] == [
        {
            "actions": [
                {"remote_address": {}},
                {"generic_key": {"descriptor_value": "text"}},
                {"generic_key": {"descriptor_value": "x"}},
                {"request_headers": {"descriptor_key": "user", "header_name": "x-user"}},
            ]
        }
    ]


@pytest.mark.parametrize(
    "actions",
    [[], {}, [{}], [{"generic_key": {}}], [{"a": 1}], [{"request_headers": {"key": "x"}}], [{"a": {"header": "x y"}}]],
)
async def test_labels_of_another_form_are_reported(actions: Any) -> None:
    found = await routes(RATE_LIMIT, mapping("m", labels={"ambassador": [{"g": actions}]}))
    assert found.paths == ["/m/"]
    assert found.problems() == [("shop:m", "InvalidLabels")]


# Redirects


async def test_a_path_redirect_counts_and_other_ways_are_reported() -> None:
    found = await routes(
        mapping("m", service="new.example", host_redirect=True, path_redirect="/a", prefix_redirect="/b")
    )
    assert found.only["redirect"]["path_redirect"] == "/a"
    assert "prefix_rewrite" not in found.only["redirect"]
    assert found.problems() == [("shop:m", "IgnoredField")]


# Mistakes


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"rewrite": "/a/", "regex_rewrite": {"pattern": "a", "substitution": "b"}}, "IgnoredField"),
        ({"host_rewrite": "a.example", "auto_host_rewrite": True}, "IgnoredField"),
        ({"path_redirect": "/a"}, "IgnoredField"),
        ({"retry_policy": {"num_retries": 3}}, "InvalidRetryPolicy"),
        ({"retry_policy": {"retry_on": "5xx", "per_try_timeout": "soon"}}, "InvalidRetryPolicy"),
        ({"cors": {"origins": 5}}, "InvalidCors"),
        ({"cors": {"origins": ["a"], "max_age": "soon"}}, "InvalidCors"),
        ({"add_request_headers": {":path": {"value": "/"}}}, "InvalidHeader"),
        ({"add_request_headers": {"Host": {"value": "a"}}}, "InvalidHeader"),
        ({"add_request_headers": {"x a": {"value": "a"}}}, "InvalidHeader"),
        ({"add_request_headers": {"x-a": {"value": "100%"}}}, "InvalidHeader"),
        ({"add_request_headers": {"x-a": {"valu": "1"}}}, "InvalidHeader"),
        ({"add_response_headers": {"x-a": {"value": "a\nb"}}}, "InvalidHeader"),
        ({"add_request_headers": {f"h{number}": "x" for number in range(1000)}}, "InvalidHeader"),
        ({"remove_request_headers": ["host"]}, "InvalidHeader"),
        ({"retry_policy": {"retry_on": "5xx", "per_try_timeout": "9223372036s"}}, "InvalidRetryPolicy"),
        ({"remove_request_headers": {"a": "b"}}, "InvalidHeader"),
        ({"auth_context_extensions": {"a": {"b": "c"}}}, "InvalidAuthContext"),
        ({"load_balancer": {"policy": "ring_hash"}}, "InvalidLoadBalancer"),
        ({"load_balancer": {"policy": "ring_hash", "header": "x y"}}, "InvalidLoadBalancer"),
        ({"bypass_auth": True, "auth_context_extensions": {"a": "b"}}, "IgnoredField"),
        ({"hostname": "*", "host": "a.example"}, "IgnoredField"),
        ({"allow_upgrade": ["web socket"]}, "InvalidUpgrade"),
        ({"enable_ipv6": "perhaps"}, "InvalidField"),
        ({"add_linkerd_headers": 7}, "InvalidField"),
    ],
)
async def test_a_mistake_is_reported_and_left_out_and_the_mapping_stays_routed(
    spec: dict[str, Any], reason: str
) -> None:
    found = await routes(mapping("m", **spec))
    assert "cluster" in found.only["route"]
    assert {reason for _, reason in found.problems()} == {reason}


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"service": "http://echo/path"}, "InvalidService"),
        ({"service": "echo", "tls": {"name": "x"}}, "InvalidTLS"),
        ({"rewrite": "/a\nb"}, "InvalidText"),
        ({"regex_rewrite": {"pattern": "(?=a)", "substitution": "b"}}, "InvalidRegex"),
        ({"regex_rewrite": {"pattern": "a", "substitution": r"\1"}}, "InvalidRegex"),
        ({"host_redirect": True, "service": "a/b"}, "InvalidService"),
    ],
)
async def test_where_requests_would_go_elsewhere_they_are_rejected(spec: dict[str, Any], reason: str) -> None:
    found = await routes(mapping("m", **spec))
    assert found.only["direct_response"] == {"status": 503}
    assert found.problems() == [("shop:m", reason)]


# The Module


async def test_a_value_in_a_mapping_counts_even_if_it_is_empty() -> None:
    headers = {"add_request_headers": {"x-d": "e"}, "add_response_headers": {"x-r": "e"}}
    removed = {"remove_request_headers": ["x-s"], "remove_response_headers": ["server"]}
    balancer = {"policy": "ring_hash", "header": "x-user"}
    empty: dict[str, Any] = {key: [] for key in (*removed, "circuit_breakers")}
    empty |= {key: {} for key in (*headers, "retry_policy", "cors", "keepalive", "load_balancer")}
    found = await routes(
        module(
            retry_policy={"retry_on": "5xx"},
            cors={"origins": ["https://a.example"]},
            circuit_breakers=[{"max_requests": 1}],
            keepalive={"probes": 3},
            load_balancer=balancer,
            defaults={"httpmapping": {**headers, **removed, "stats_name": "all"}},
        ),
        mapping("inherits"),
        mapping("own", **empty, stats_name=""),
    )
    inherits, own = sorted(found.configs, key=lambda config: config["match"]["prefix"])
    assert inherits["request_headers_to_remove"] == ["x-s"]
    assert {"retry_policy", "hash_policy"} <= inherits["route"].keys()
    assert own.keys() == {"name", "match", "route"}
    assert not {"retry_policy", "hash_policy"} & own["route"].keys()
    cluster = next(
        config for name, config in found.gate.elements("envoy_cluster").items() if name == own["route"]["cluster"]
    )["config"]
    assert not {"circuit_breakers", "upstream_connection_options"} & cluster.keys()
    assert cluster.get("alt_stat_name") != "all"
    assert found.problems() == []
