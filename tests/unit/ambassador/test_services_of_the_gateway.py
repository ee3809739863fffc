"""AuthServices, RateLimitServices, LogServices and TracingServices (docs/ambassador.md §4.3, §4.5)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.apiserver.errors import BadRequest
from tests.support.ambassador.hosts import MemoryGateway, listener, manifest
from tests.support.ambassador.services import (
    auth,
    filters,
    gateway,
    guards,
    log,
    manager,
    module,
    rate_limit,
    script,
    tracing,
)

pytestmark = pytest.mark.anyio


def authorization(gate: MemoryGateway) -> dict[str, Any]:
    return filters(gate)["envoy.filters.http.ext_authz"]


async def test_a_status_that_envoy_does_not_know_is_left_out_and_reported() -> None:
    assert authorization(await gateway(auth(status_on_error={"code": 503})))["status_on_error"] == {"code": 503}
    gate = await gateway(auth(status_on_error={"code": 599}))
    assert "status_on_error" not in authorization(gate)
    assert gate.problems() == [("auth_service", "gate:auth", "InvalidStatus")]


WRONG = [
    ({"proto": "grpc"}, "UnsupportedProtocol"),
    ({"proto": "grpc", "protocol_version": "v2"}, "UnsupportedProtocol"),
    ({"auth_service": "http://auth/path"}, "InvalidService"),
    ({"path_prefix": "check"}, "InvalidPath"),
    ({"include_body": {"allow_partial": True}}, "InvalidBody"),
    ({"add_auth_headers": {"a": "b\nc"}}, "InvalidHeader"),
    ({"tls": ["a"]}, "InvalidTLS"),
    ({"circuit_breakers": [{}, {}]}, "InvalidSetting"),
]


@pytest.mark.parametrize(("spec", "reason"), WRONG, ids=lambda part: str(part))
async def test_one_that_can_not_be_asked_lets_nobody_in(spec: dict[str, Any], reason: str) -> None:
    gate = await gateway(auth(**spec))
    assert guards(gate) == ["cors", "misconfigured_auth_service"]
    assert '[":status"] = "500"' in script(filters(gate)["misconfigured_auth_service"])
    assert gate.problems() == [("auth_service", "gate:auth", reason)]


async def test_the_probes_of_services_stay_open_while_nobody_is_let_in() -> None:
    gate = await gateway(auth(path_prefix="check"), module(liveness_probe={"service": "a", "prefix": '/x"y'}))
    assert 'local open = {["/x\\034y"] = true}' in script(filters(gate)["misconfigured_auth_service"])


async def test_one_of_another_gateway_guards_nothing_here() -> None:
    theirs = manifest("AuthService", "theirs", {"auth_service": "auth", "ambassador_id": ["b"]})
    assert guards(await gateway(theirs)) == ["cors"]


async def test_what_grpc_does_not_know_is_reported() -> None:
    gate = await gateway(auth(proto="grpc", protocol_version="v3", path_prefix="/x"))
    assert gate.problems() == [("auth_service", "gate:auth", "NoEffect")]


@pytest.mark.parametrize("says", [{}, {"add_linkerd_headers": True}], ids=str)
async def test_the_linkerd_header_names_the_service_with_two_that_join(says: dict[str, bool]) -> None:
    gate = await gateway(auth("a"), auth("b", auth_service="other:3000", **says), module(add_linkerd_headers=not says))
    request = authorization(gate)["http_service"]["authorization_request"]
    value = "other:3000" if says else "auth:3000"
    assert request["headers_to_add"] == [{"key": "l5d-dst-override", "value": value}]
    assert gate.problems() == []


async def test_one_that_could_not_even_be_compiled_lets_nobody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("intentc.compilers.ambassador.auth_service.read_auth", broken)
    gate = await gateway(auth())
    assert guards(gate) == ["cors", "misconfigured_auth_service"]
    assert gate.problems() == [("auth_service", "gate:auth", "EvaluationFailed")]


@pytest.mark.parametrize("headers", [{"host": "x"}, {":path": "x"}, {"a\n": "x"}, {"a": "x\n"}, {"a": "%NO%"}], ids=str)
async def test_a_header_that_envoy_does_not_let_be_added_closes(headers: dict[str, str]) -> None:
    gate = await gateway(auth(add_auth_headers=headers))
    assert gate.problems() == [("auth_service", "gate:auth", "InvalidHeader")]
    assert "envoy.filters.http.ext_authz" not in filters(gate)


async def test_an_unusable_rate_limit_with_failure_mode_deny_lets_nobody_in() -> None:
    gate = await gateway(rate_limit(service="a/b", failure_mode_deny=True))
    assert guards(gate) == ["cors", "misconfigured_rate_limit_service"]
    assert gate.problems() == [("rate_limit_service", "gate:limits", "InvalidService")]


def logs(gate: MemoryGateway) -> list[dict[str, Any]]:
    return [one["typed_config"] for one in manager(gate)["access_log"]]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"protocol_version": "v2"}, "UnsupportedProtocol"),
        ({"protocol_version": None}, "UnsupportedProtocol"),
        ({"service": "a b"}, "InvalidService"),
    ],
)
async def test_one_that_can_not_be_reached_gets_nothing_and_is_reported(spec: dict[str, Any], reason: str) -> None:
    gate = await gateway(log(**spec), log("good"))
    assert [one["common_config"]["log_name"] for one in logs(gate)[:-1]] == ["good"]
    assert gate.problems() == [("log_service", "gate:log", reason)]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"driver": "tcp", "driver_config": {"additional_log_headers": [{"header_name": "a"}]}}, "NoEffect"),
        ({"driver_config": {"additional_log_headers": [{"header_name": "a b"}]}}, "InvalidHeader"),
    ],
)
async def test_headers_that_can_not_be_logged_are_reported_and_the_rest_is(spec: dict[str, Any], reason: str) -> None:
    gate = await gateway(log(**spec))
    assert len(logs(gate)) == 2
    assert gate.problems() == [("log_service", "gate:log", reason)]


async def test_admission_rejects_an_amount_that_envoy_has_no_room_for() -> None:
    with pytest.raises(BadRequest, match="flush_interval_byte_size"):
        await gateway(log(flush_interval_byte_size=2**32))


def provider(gate: MemoryGateway) -> dict[str, Any]:
    found: dict[str, Any] = manager(gate)["tracing"]["provider"]
    return found


async def test_datadog_finds_its_spans_from_the_access_log() -> None:
    gate = await gateway(tracing(driver="datadog"), module(envoy_log_type="json"))
    (file,) = manager(gate)["access_log"]
    assert file["typed_config"]["log_format"]["json_format"]["dd.span_id"] == "%REQ(X-DATADOG-PARENT-ID)%"


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_span_shows_of_the_environment_what_a_setting_allows(allowed: bool) -> None:
    tags = [{"tag": "pod", "environment": {"name": "POD_NAME"}}]
    settings = {"ambassador.allowed_environment": ["POD_NAME"]} if allowed else {}
    gate = await MemoryGateway(settings).apply(listener(), tracing(custom_tags=tags))
    assert ("custom_tags" in manager(gate)["tracing"]) is allowed
    assert gate.problems() == ([] if allowed else [("tracing_service", "gate:traces", "ForbiddenTag")])


async def test_a_version_that_envoy_does_not_have_is_reported_and_replaced() -> None:
    gate = await gateway(tracing(config={"collector_endpoint_version": "HTTP_JSON_V1"}))
    assert provider(gate)["typed_config"]["collector_endpoint_version"] == "HTTP_JSON"
    assert gate.problems() == [("tracing_service", "gate:traces", "Unsupported")]


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
