"""What a Mapping does with requests, field by field, as Envoy's JSON (docs/ambassador.md §4.3, §4.5)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ambassador.hosts import manifest
from tests.support.ambassador.mappings import mapping, module, routes

pytestmark = pytest.mark.anyio

RATE_LIMIT = manifest("RateLimitService", "limits", {"service": "limits:9000", "protocol_version": "v3"}, "ambassador")


@pytest.mark.parametrize(
    ("spec", "action"),
    [
        ({"rewrite": ""}, {"prefix_rewrite": None}),
        ({"rewrite": "/new/"}, {"prefix_rewrite": "/new/"}),
        (
            {"regex_rewrite": {"pattern": "/m/([0-9]+)", "substitution": r"/\1"}},
            {"prefix_rewrite": None, "regex_rewrite": {"pattern": {"regex": "/m/([0-9]+)"}, "substitution": r"/\1"}},
        ),
        ({"host_rewrite": "new.example"}, {"host_rewrite_literal": "new.example"}),
        ({"auto_host_rewrite": True}, {"auto_host_rewrite": True}),
        ({"timeout_ms": 0}, {"timeout": "0.000s"}),
        ({"timeout_ms": 1234, "idle_timeout_ms": 50}, {"timeout": "1.234s", "idle_timeout": "0.050s"}),
        ({"idle_timeout_ms": 0}, {"idle_timeout": "0.000s"}),
        ({"priority": "high"}, {"priority": "HIGH"}),
        (
            {"retry_policy": {"retry_on": "5xx", "num_retries": 0, "per_try_timeout": "250ms"}},
            {"retry_policy": {"retry_on": "5xx", "num_retries": 0, "per_try_timeout": "0.250s"}},
        ),
        ({"use_websocket": True}, {"upgrade_configs": [{"upgrade_type": "websocket"}]}),
        (
            {"allow_upgrade": ["WebSocket", "spdy/3.1"], "use_websocket": True},
            {"upgrade_configs": [{"upgrade_type": "websocket"}, {"upgrade_type": "spdy/3.1"}]},
        ),
        (
            {"load_balancer": {"policy": "ring_hash", "header": "x-user"}},
            {"hash_policy": [{"header": {"header_name": "x-user"}}]},
        ),
        (
            {"load_balancer": {"policy": "maglev", "source_ip": True}},
            {"hash_policy": [{"connection_properties": {"source_ip": True}}]},
        ),
        (
            {"load_balancer": {"policy": "ring_hash", "cookie": {"name": "s", "ttl": "60s", "path": "/"}}},
            {"hash_policy": [{"cookie": {"name": "s", "ttl": "60.000s", "path": "/"}}]},
        ),
        ({"load_balancer": {"policy": "least_request"}}, {"hash_policy": None}),
    ],
)
async def test_a_setting_of_the_route(spec: dict[str, Any], action: dict[str, Any]) -> None:
    found = await routes(mapping("m", resolver="endpoint", **spec))
    assert {field: found.only["route"].get(field) for field in action} == action
    assert [problem for problem in found.problems() if problem[1].startswith("I")] == []


@pytest.mark.parametrize(
    ("spec", "field", "value"),
    [
        (
            {"add_request_headers": {"x-a": {"value": "1"}}},
            "request_headers_to_add",
            [{"header": {"key": "x-a", "value": "1"}, "append_action": "APPEND_IF_EXISTS_OR_ADD"}],
        ),
        (
            {"add_response_headers": {"x-a": {"value": "%REQ(x-b)%", "append": False}}},
            "response_headers_to_add",
            [{"header": {"key": "x-a", "value": "%REQ(x-b)%"}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}],
        ),
        ({"remove_request_headers": ["x-a", "x-a"]}, "request_headers_to_remove", ["x-a"]),
        ({"remove_response_headers": ["server"]}, "response_headers_to_remove", ["server"]),
        ({"stats_name": "orders"}, "stat_prefix", "orders"),
    ],
)
async def test_headers_and_statistics(spec: dict[str, Any], field: str, value: Any) -> None:
    found = await routes(mapping("m", **spec))
    assert found.only[field] == value
    assert found.problems() == []


async def test_v2_says_headers_by_their_value_alone_and_one_to_remove_by_its_name() -> None:
    found = await routes(
        mapping("m", version="v2", add_request_headers={"x-a": "1"}, remove_request_headers="x-b", tls=False)
    )
    assert found.only["request_headers_to_add"][0]["header"] == {"key": "x-a", "value": "1"}
    assert found.only["request_headers_to_remove"] == ["x-b"]


async def test_a_redirect_comes_before_authorization() -> None:
    spec: dict[str, Any] = {"host_redirect": True, "auth_context_extensions": {"a": "b"}}
    found = await routes(mapping("m", **spec))
    assert found.only["typed_per_filter_config"]["envoy.filters.http.ext_authz"]["disabled"] is True
    assert found.problems() == [("shop:m", "IgnoredField")]


@pytest.mark.parametrize("value", ["%ENVIRONMENT(HOME)%", "%HOSTNAME%", "a%FILTER_STATE(x)%", "%UPSTREAM_METADATA(a)%"])
async def test_a_header_shows_nothing_of_the_gateway_itself(value: str) -> None:
    found = await routes(mapping("m", add_response_headers={"x-a": {"value": value}, "x-b": {"value": "%PROTOCOL%"}}))
    assert [one["header"]["key"] for one in found.only["response_headers_to_add"]] == ["x-b"]
    assert found.problems() == [("shop:m", "InvalidHeader")]


async def test_the_linkerd_header_names_the_service() -> None:
    found = await routes(mapping("m", service="echo.shop:8080", add_linkerd_headers=True))
    (added,) = found.only["request_headers_to_add"]
    assert added["header"] == {"key": "l5d-dst-override", "value": "echo.shop:8080"}
    assert added["append_action"] == "OVERWRITE_IF_EXISTS_OR_ADD"


# Settings of filters


async def test_the_cors_filter_gets_its_settings() -> None:
    cors = {"origins": ["https://a.example"], "methods": ["GET", "PUT"], "headers": ["x-a"], "exposed_headers": ["x-b"]}
    found = await routes(mapping("m", cors={**cors, "credentials": True, "max_age": "86400"}))
    assert found.only["typed_per_filter_config"] == {
        "envoy.filters.http.cors": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy",
            "allow_origin_string_match": [{"exact": "https://a.example"}],
            "allow_methods": "GET, PUT",
            "allow_headers": "x-a",
            "expose_headers": "x-b",
            "allow_credentials": True,
            "max_age": "86400",
        }
    }


async def test_in_v2_cors_may_be_texts_with_commas() -> None:
    found = await routes(mapping("m", version="v2", cors={"origins": "https://a.example, https://b.example"}))
    policy = found.only["typed_per_filter_config"]["envoy.filters.http.cors"]
    assert [each["exact"] for each in policy["allow_origin_string_match"]] == ["https://a.example", "https://b.example"]


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ({"bypass_auth": True}, {"disabled": True}),
        ({"auth_context_extensions": {"a": "b"}}, {"check_settings": {"context_extensions": {"a": "b"}}}),
        ({"bypass_auth": True, "auth_context_extensions": {"a": "b"}}, {"disabled": True}),
    ],
)
async def test_the_auth_filter_has_settings_of_the_route(spec: dict[str, Any], shown: dict[str, Any]) -> None:
    found = await routes(mapping("m", **spec))
    (config,) = found.only["typed_per_filter_config"].values()
    assert config == {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute",
        **shown,
    }


async def test_labels_of_the_rate_limit_services_domain_are_counted() -> None:
    labels = {
        "ambassador": [
            {"by_user": [{"request_headers": {"key": "user", "header_name": "x-user", "omit_if_not_present": True}}]},
            {"by_address": [{"remote_address": {"key": "remote_address"}}, {"generic_key": {"value": "orders"}}]},
        ],
        "other": [{"g": [{"generic_key": {"value": "x"}}]}],
    }
    found = await routes(RATE_LIMIT, mapping("m", labels=labels))
    assert found.only["route"]["rate_limits"] == [
        # Envoy drops the whole descriptor where the header is missing, unless it may skip the entry alone.
        {"actions": [{"request_headers": {"descriptor_key": "user", "header_name": "x-user"}}]},
        {"actions": [{"remote_address": {}}, {"generic_key": {"descriptor_value": "orders"}}]},
    ]


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


async def test_without_a_rate_limit_service_nothing_is_counted() -> None:
    found = await routes(mapping("m", labels={"ambassador": [{"g": [{"generic_key": {"value": "x"}}]}]}))
    assert "rate_limits" not in found.only["route"]
    assert found.problems() == [("shop:m", "NoRateLimitService")]


@pytest.mark.parametrize(
    "actions",
    [[], {}, [{}], [{"generic_key": {}}], [{"a": 1}], [{"request_headers": {"key": "x"}}], [{"a": {"header": "x y"}}]],
)
async def test_labels_of_another_form_are_reported(actions: Any) -> None:
    found = await routes(RATE_LIMIT, mapping("m", labels={"ambassador": [{"g": actions}]}))
    assert found.paths == ["/m/"]
    assert found.problems() == [("shop:m", "InvalidLabels")]


# Redirects


@pytest.mark.parametrize(
    ("spec", "redirect"),
    [
        ({}, {"host_redirect": "new.example", "response_code": "MOVED_PERMANENTLY"}),
        ({"redirect_response_code": 307}, {"host_redirect": "new.example", "response_code": "TEMPORARY_REDIRECT"}),
        ({"service": "https://new.example:8443"}, {"scheme_redirect": "https", "port_redirect": 8443}),
        ({"path_redirect": "/a"}, {"path_redirect": "/a"}),
        ({"prefix_redirect": "/a/"}, {"prefix_rewrite": "/a/"}),
        (
            {"regex_redirect": {"pattern": "/m/(.*)", "substitution": r"/\1"}},
            {"regex_rewrite": {"pattern": {"regex": "/m/(.*)"}, "substitution": r"/\1"}},
        ),
    ],
)
async def test_a_redirect(spec: dict[str, Any], redirect: dict[str, Any]) -> None:
    found = await routes(mapping("m", **{"service": "new.example", "host_redirect": True, **spec}))
    assert {field: found.only["redirect"].get(field) for field in redirect} == redirect
    assert found.problems() == []
    assert found.gate.elements("envoy_cluster") == {}


async def test_of_several_ways_to_redirect_the_path_counts_and_the_others_are_reported() -> None:
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


async def test_what_a_mapping_does_not_say_the_module_says() -> None:
    found = await routes(
        module(
            cluster_request_timeout_ms=4000,
            retry_policy={"retry_on": "5xx"},
            cors={"origins": ["https://a.example"]},
            defaults={"httpmapping": {"add_request_headers": {"x-d": {"value": "e"}}, "stats_name": "all"}},
        ),
        mapping("m"),
    )
    assert found.only["route"]["timeout"] == "4.000s"
    assert found.only["route"]["retry_policy"] == {"retry_on": "5xx"}
    assert "envoy.filters.http.cors" in found.only["typed_per_filter_config"]
    assert found.only["request_headers_to_add"][0]["header"] == {"key": "x-d", "value": "e"}
    assert found.only["stat_prefix"] == "all"


async def test_what_a_mapping_says_is_in_force_also_if_it_is_empty() -> None:
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


async def test_a_module_and_a_mapping_changed_together_both_have_effect_on_all() -> None:
    """Defect 2: the peer leaves unchanged Mappings with the former Module."""
    found = await routes(module(cluster_request_timeout_ms=4000), mapping("old"), mapping("changed"))
    await found.gate.service.update(module(cluster_request_timeout_ms=5000), mapping("changed", rewrite="/x/"))
    assert [config["route"]["timeout"] for config in found.configs] == ["5.000s", "5.000s"]
    assert found.configs[0]["route"]["prefix_rewrite"] == "/x/"


async def test_a_mapping_that_says_3000_itself_keeps_it() -> None:
    found = await routes(module(cluster_request_timeout_ms=4000), mapping("m", timeout_ms=3000))
    assert found.only["route"]["timeout"] == "3.000s"
