"""Where the spans of requests go (docs/ambassador.md §4.3): a provider of the connection manager."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.ambassador.hosts import MemoryGateway, listener
from tests.support.ambassador.services import gateway, manager, module, tracing

pytestmark = pytest.mark.anyio


def provider(gate: MemoryGateway) -> dict[str, Any]:
    found: dict[str, Any] = manager(gate)["tracing"]["provider"]
    return found


async def test_zipkin_gets_its_spans_as_json() -> None:
    gate = await gateway(tracing())
    config = provider(gate)["typed_config"]
    assert (config["collector_endpoint"], config["collector_endpoint_version"]) == ("/api/v2/spans", "HTTP_JSON")
    assert [config["collector_cluster"]] == list(gate.elements("envoy_cluster"))
    assert manager(gate)["generate_request_id"] is True
    assert gate.problems() == []


async def test_datadog_gets_the_name_of_the_service() -> None:
    gate = await gateway(tracing(driver="datadog", config={"service_name": "shop"}))
    assert provider(gate)["typed_config"]["service_name"] == "shop"


async def test_datadog_finds_its_spans_from_the_access_log() -> None:
    gate = await gateway(tracing(driver="datadog"), module(envoy_log_type="json"))
    (file,) = manager(gate)["access_log"]
    assert file["typed_config"]["log_format"]["json_format"]["dd.span_id"] == "%REQ(X-DATADOG-PARENT-ID)%"


async def test_opentelemetry_is_spoken_over_grpc() -> None:
    gate = await gateway(tracing(driver="opentelemetry"))
    (cluster,) = gate.elements("envoy_cluster").values()
    assert provider(gate)["typed_config"]["grpc_service"] == {"envoy_grpc": {"cluster_name": cluster["config"]["name"]}}
    assert "typed_extension_protocol_options" in cluster["config"]


async def test_the_upstream_call_has_a_span_of_its_own() -> None:
    assert manager(await gateway(tracing()))["tracing"]["spawn_upstream_span"] is True


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_span_shows_of_the_environment_what_a_setting_allows(allowed: bool) -> None:
    tags = [{"tag": "pod", "environment": {"name": "POD_NAME"}}]
    settings = {"ambassador.allowed_environment": ["POD_NAME"]} if allowed else {}
    gate = await MemoryGateway(settings).apply(listener(), tracing(custom_tags=tags))
    assert ("custom_tags" in manager(gate)["tracing"]) is allowed
    assert gate.problems() == ([] if allowed else [("tracing_service", "gate:traces", "ForbiddenTag")])


async def test_a_driver_that_envoy_does_not_have_is_reported() -> None:
    gate = await gateway(tracing(driver="lightstep"))
    assert "tracing" not in manager(gate)
    assert gate.problems() == [("tracing_service", "gate:traces", "UnsupportedDriver")]


async def test_a_version_that_envoy_does_not_have_is_reported_and_replaced() -> None:
    gate = await gateway(tracing(config={"collector_endpoint_version": "HTTP_JSON_V1"}))
    assert provider(gate)["typed_config"]["collector_endpoint_version"] == "HTTP_JSON"
    assert gate.problems() == [("tracing_service", "gate:traces", "Unsupported")]


async def test_what_a_driver_does_not_know_is_reported() -> None:
    gate = await gateway(tracing(driver="opentelemetry", config={"collector_endpoint": "/x"}))
    assert gate.problems() == [("tracing_service", "gate:traces", "NoEffect")]


async def test_sampling_is_in_percent_and_zero_is_none() -> None:
    found = manager(await gateway(tracing(sampling={"random": 0, "overall": 10})))["tracing"]
    assert (found["random_sampling"], found["overall_sampling"]) == ({"value": 0}, {"value": 10})
    assert "client_sampling" not in found


async def test_tags_come_from_one_source_each_and_others_are_reported() -> None:
    gate = await gateway(
        tracing(
            custom_tags=[
                {"tag": "a", "literal": {"value": "b"}},
                {"tag": "c", "request_header": {"name": "d", "default_value": "e"}},
                {"tag": "f", "environment": {"name": "g"}, "literal": {"value": "h"}},
                {"tag": "i", "request_header": {"name": "no name"}},
            ]
        )
    )
    assert manager(gate)["tracing"]["custom_tags"] == [
        {"tag": "a", "literal": {"value": "b"}},
        {"tag": "c", "request_header": {"name": "d", "default_value": "e"}},
    ]
    assert gate.problems() == [("tracing_service", "gate:traces", "InvalidTag")] * 2


async def test_tag_headers_are_the_older_form_of_tags() -> None:
    found = manager(await gateway(tracing(tag_headers=["x-a"])))["tracing"]["custom_tags"]
    assert found == [{"tag": "x-a", "request_header": {"name": "x-a"}}]


async def test_one_counts_and_the_other_is_reported() -> None:
    gate = await gateway(tracing("b"), tracing("a", driver="datadog"))
    assert provider(gate)["name"] == "envoy.tracers.datadog"
    assert gate.problems() == [("tracing_service", "gate:b", "SecondTracingService")]


@pytest.mark.parametrize(
    "tag",
    [
        {"tag": "a\n", "literal": {"value": "b"}},
        {"tag": "a", "literal": {"value": "b\n"}},
        {"tag": "a", "request_header": {"name": "b\n"}},
        {"tag": "a", "environment": {"name": "b", "default_value": "c\n"}},
    ],
    ids=str,
)
async def test_a_tag_with_a_line_break_is_left_out_alone(tag: dict[str, Any]) -> None:
    gate = await gateway(tracing(custom_tags=[tag, {"tag": "good", "literal": {"value": "b"}}]))
    assert [one["tag"] for one in manager(gate)["tracing"]["custom_tags"]] == ["good"]
    assert gate.problems() == [("tracing_service", "gate:traces", "InvalidTag")]


async def test_names_with_a_line_break_are_left_out() -> None:
    gate = await gateway(tracing(config={"collector_hostname": "a\n"}))
    assert "collector_hostname" not in provider(gate)["typed_config"]
    assert gate.problems() == [("tracing_service", "gate:traces", "InvalidText")]
