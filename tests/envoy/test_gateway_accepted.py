"""Envoy takes what the Module and the services of the gateway become, without a complaint (no deprecated field)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from intentc.compilers.ambassador.settings.header_rules import COMMANDS, MAY_HAVE_ARGUMENT, WITH_ARGUMENT
from tests.envoy.validating import complaints
from tests.support.ambassador.hosts import MemoryGateway
from tests.support.ambassador.services import EVERY_FILTER, auth, gateway, log, module, rate_limit, tracing

pytestmark = [pytest.mark.anyio, pytest.mark.envoy]

EVERY_SETTING: dict[str, Any] = {
    "allow_chunked_length": True,
    "buffer_limit_bytes": 4096,
    "enable_http10": True,
    "forward_client_cert_details": "SANITIZE_SET",
    "headers_with_underscores_action": "REJECT_REQUEST",
    "listener_idle_timeout_ms": 1000,
    "max_request_headers_kb": 96,
    "merge_slashes": True,
    "preserve_external_request_id": True,
    "proper_case": True,
    "reject_requests_with_escaped_slashes": True,
    "server_name": "ours",
    "set_current_client_cert_details": {"subject": True, "cert": True, "chain": True, "dns": True, "uri": True},
    "strip_matching_host_port": True,
    "suppress_envoy_headers": True,
    "use_remote_address": False,
    "xff_num_trusted_hops": 2,
}
EVERY_GZIP = {
    "memory_level": 9,
    "compression_level": "BEST",
    "compression_strategy": "HUFFMAN",
    "window_bits": 15,
    "disable_on_etag_header": True,
    "remove_accept_encoding_header": True,
}
ARGUMENTS = {
    "COMMON_DURATION": "DS_RX_BEG:DS_TX_END:ms",
    "FILTER_STATE": "a:PLAIN",
    "GRPC_STATUS": "CAMEL_STRING",
    "REQ": "A?B",
    "START_TIME": "%Y-%m-%d",
    "EMIT_TIME": "%s",
}
CASES: dict[str, list[dict[str, Any]]] = {
    "nothing": [],
    "every filter": [module(**EVERY_FILTER)],
    "every setting": [module(**EVERY_SETTING)],
    "gzip": [module(gzip=EVERY_GZIP)],
    "grpc_stats": [module(grpc_stats={"all_methods": True, "upstream_stats": True})],
    "nobody allowed": [module(ip_allow="?")],
    "everybody denied": [module(ip_deny="?")],
    "typed_json": [module(envoy_log_type="typed_json", envoy_log_format={"a": {"b": ["%DURATION%", 1, True]}})],
    "json": [module(envoy_log_type="json")],
    "probe of a service": [module(liveness_probe={"service": "health:8000"})],
    "auth over http": [
        auth(
            path_prefix="/check",
            allowed_request_headers=["x-a"],
            allowed_authorization_headers=["x-b"],
            add_auth_headers={"x-c": "d"},
            include_body={"max_bytes": 10, "allow_partial": True},
            status_on_error={"code": 511},
            failure_mode_allow=True,
            circuit_breakers=[{"max_connections": 1}],
        )
    ],
    "auth over grpc": [auth(proto="grpc", protocol_version="v3", allow_request_body=True)],
    "auth misconfigured": [auth(path_prefix="?"), module(liveness_probe={"service": "a", "prefix": '/"]]\\é'})],
    "auth joined": [auth("a"), auth("b", auth_service="two")],
    "rate limit": [rate_limit(failure_mode_deny=True, grpc={"use_resource_exhausted_code": True})],
    "rate limit misconfigured": [rate_limit(service="?", failure_mode_deny=True)],
    "zipkin": [
        tracing(
            config={"collector_hostname": "z", "trace_id_128bit": False, "shared_span_context": False},
            custom_tags=[
                {"tag": "a", "literal": {"value": "b"}},
                {"tag": "c", "environment": {"name": "d", "default_value": "e"}},
                {"tag": "f", "request_header": {"name": "g"}},
            ],
            sampling={"client": 1, "random": 2, "overall": 3},
        )
    ],
    "datadog": [tracing(driver="datadog", config={"collector_hostname": "d"})],
    "opentelemetry": [tracing(driver="opentelemetry", config={"service_name": "s"})],
    "logs": [
        log("a", driver_config={"additional_log_headers": [{"header_name": "x"}]}),
        log("b", driver="tcp", flush_interval_time=5, flush_interval_byte_size=0),
    ],
}


def static(gate: MemoryGateway) -> dict[str, Any]:
    """The elements as a configuration without discovery: every route in one virtual host."""
    routes = [one["config"] for one in gate.elements("envoy_route").values()]
    listeners = [one["config"] for one in gate.elements("envoy_listener").values()]
    for listener in listeners:
        for chain in listener["filter_chains"]:
            manager = chain["filters"][0]["typed_config"]
            name = manager.pop("rds")["route_config_name"]
            manager["route_config"] = {
                "name": name,
                "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}],
            }
    clusters = [one["config"] for one in gate.elements("envoy_cluster").values()]
    return {"static_resources": {"listeners": listeners, "clusters": clusters}}


@pytest.mark.parametrize("resources", CASES.values(), ids=CASES)
async def test_envoy_takes_what_the_gateway_becomes(resources: list[dict[str, Any]], tmp_path: Path) -> None:
    assert complaints(static(await gateway(*resources)), tmp_path) == ""


async def test_envoy_takes_every_command_of_a_log_format(tmp_path: Path) -> None:
    bare = [f"%{name}%" for name in sorted(COMMANDS - WITH_ARGUMENT)]
    arguments = [f"%{name}({ARGUMENTS.get(name, 'a')})%" for name in sorted(WITH_ARGUMENT | MAY_HAVE_ARGUMENT)]
    gate = await gateway(module(envoy_log_format=" ".join(bare + arguments)))
    assert gate.problems() == []
    assert complaints(static(gate), tmp_path) == ""


@pytest.mark.parametrize(
    "text", ["%PROTOCOLL%", "%REQ%", "%REQ(A?B?C)%", "%PROTOCOL(x)%", "%COMMON_DURATION(x)%", "100%"]
)
async def test_what_a_log_format_must_not_have_envoy_rejects(text: str, tmp_path: Path) -> None:
    gate = await gateway()
    bootstrap = static(gate)
    (listener,) = bootstrap["static_resources"]["listeners"]
    (file,) = listener["filter_chains"][0]["filters"][0]["typed_config"]["access_log"]
    file["typed_config"]["log_format"]["text_format_source"]["inline_string"] = text
    assert complaints(bootstrap, tmp_path) != ""
