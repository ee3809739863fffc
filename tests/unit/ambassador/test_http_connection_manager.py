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


def test_an_empty_list_of_those_allowed_lets_nobody_in() -> None:
    found, _ = read_settings({"ip_allow": []})
    assert filters(config(Gateway(found)))["rbac"]["rules"] == {"action": "ALLOW", "policies": {}}
