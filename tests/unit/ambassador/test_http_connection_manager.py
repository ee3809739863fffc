"""The connection manager of every listener: which filters, in which order, with which settings
(docs/ambassador.md §4.5)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.compilers.ambassador.envoy.http_connection_manager import http_connection_manager
from intentc.compilers.ambassador.http_gateway import AuthFilter, Gateway, RateLimitFilter
from intentc.compilers.ambassador.module_reading import read_settings
from tests.support.ambassador.services import EVERY_FILTER, checked


def config(gateway: Gateway | None = None, **arguments: Any) -> dict[str, Any]:
    found = http_connection_manager(
        gateway or Gateway(), stat_prefix="ingress_http", route_configuration="a/b|cleartext", **arguments
    )
    assert found["name"] == "envoy.filters.network.http_connection_manager"
    return checked(found["typed_config"])


def of_module(**settings: Any) -> dict[str, Any]:
    found, findings = read_settings(settings)
    assert findings == []
    return config(Gateway(found))


def filters(found: dict[str, Any]) -> dict[str, Any]:
    return {one["name"].removeprefix("envoy.filters.http."): one["typed_config"] for one in found["http_filters"]}


def test_routes_come_by_ads() -> None:
    assert config()["rds"] == {
        "route_config_name": "a/b|cleartext",
        "config_source": {"ads": {}, "resource_api_version": "V3"},
    }


def test_filters_stand_in_the_order_of_the_specification() -> None:
    settings, _ = read_settings(EVERY_FILTER)
    auth = AuthFilter("c", "http", "auth", 5000)
    assert list(filters(config(Gateway(settings, auth, RateLimitFilter("c", "ambassador", 20))))) == [
        "liveness_probe",
        "readiness_probe",
        "grpc_http1_bridge",
        "grpc_web",
        "grpc_stats",
        "lua",
        "compressor",
        "buffer",
        "rbac",
        "cors",
        "ext_authz",
        "ratelimit",
        "router",
    ]


def test_cors_and_the_router_are_always_there() -> None:
    assert list(filters(config()))[-2:] == ["cors", "router"]


def test_paths_are_normalized_and_addresses_of_clients_their_own_by_default() -> None:
    found = config()
    assert (found["normalize_path"], found["use_remote_address"], found["xff_num_trusted_hops"]) == (True, True, 0)


def test_the_depth_of_a_listener_goes_before_the_hops_of_the_module() -> None:
    gateway = Gateway(read_settings({"xff_num_trusted_hops": 1})[0])
    assert config(gateway)["xff_num_trusted_hops"] == 1
    assert config(gateway, l7_depth=3)["xff_num_trusted_hops"] == 3


@pytest.mark.parametrize(
    ("settings", "field", "value"),
    [
        ({"merge_slashes": True}, "merge_slashes", True),
        ({"reject_requests_with_escaped_slashes": True}, "path_with_escaped_slashes_action", "REJECT_REQUEST"),
        ({"max_request_headers_kb": 96}, "max_request_headers_kb", 96),
        ({"preserve_external_request_id": True}, "preserve_external_request_id", True),
        ({"strip_matching_host_port": True}, "strip_matching_host_port", True),
        ({"forward_client_cert_details": "SANITIZE_SET"}, "forward_client_cert_details", "SANITIZE_SET"),
        (
            {"set_current_client_cert_details": {"subject": True, "dns": True, "uri": False}},
            "set_current_client_cert_details",
            {"subject": True, "dns": True},
        ),
        (
            {"listener_idle_timeout_ms": 2500, "headers_with_underscores_action": "DROP_HEADER"},
            "common_http_protocol_options",
            {"idle_timeout": "2.500s", "headers_with_underscores_action": "DROP_HEADER"},
        ),
        (
            {"enable_http10": True, "allow_chunked_length": True, "proper_case": True},
            "http_protocol_options",
            {
                "accept_http_10": True,
                "allow_chunked_length": True,
                "header_key_format": {"proper_case_words": {}},
            },
        ),
    ],
)
def test_settings_of_the_module_are_those_of_envoy(settings: dict[str, Any], field: str, value: Any) -> None:
    assert of_module(**settings)[field] == value


def test_streams_are_the_listeners() -> None:
    assert config(http2_max_concurrent_streams=7)["http2_protocol_options"] == {"max_concurrent_streams": 7}


def test_envoys_headers_can_be_suppressed() -> None:
    assert filters(of_module(suppress_envoy_headers=True))["router"]["suppress_envoy_headers"] is True


def test_an_empty_list_of_those_allowed_lets_nobody_in() -> None:
    found, _ = read_settings({"ip_allow": []})
    assert filters(config(Gateway(found)))["rbac"]["rules"] == {"action": "ALLOW", "policies": {}}


def test_addresses_are_those_of_the_connection_or_of_the_client() -> None:
    rules = filters(of_module(ip_deny=[{"peer": "10.0.0.0/8"}, {"remote": "::1"}]))["rbac"]["rules"]
    assert rules["action"] == "DENY"
    assert rules["policies"]["ip-deny"]["principals"] == [
        {"direct_remote_ip": {"address_prefix": "10.0.0.0", "prefix_len": 8}},
        {"remote_ip": {"address_prefix": "::1", "prefix_len": 128}},
    ]


def test_a_probe_is_answered_with_any_query_and_nothing_behind_it() -> None:
    probe = filters(of_module(liveness_probe={"prefix": "/a.b"}))["liveness_probe"]
    assert probe["headers"][0]["string_match"] == {"safe_regex": {"regex": "/a\\.b(\\?.*)?"}}
    assert probe["pass_through_mode"] is False
