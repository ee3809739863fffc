"""Which services receive the access log by gRPC, and the log file (docs/ambassador.md §4.3, §4.5)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.apiserver.errors import BadRequest
from tests.support.ambassador.hosts import MemoryGateway
from tests.support.ambassador.services import gateway, log, manager, module

pytestmark = pytest.mark.anyio


def logs(gate: MemoryGateway) -> list[dict[str, Any]]:
    return [one["typed_config"] for one in manager(gate)["access_log"]]


async def test_a_service_without_driver_config_gets_the_log() -> None:
    """Defect 12: the peer loses its whole configuration by it."""
    gate = await gateway(log())
    service, _ = logs(gate)
    assert service["@type"].endswith("HttpGrpcAccessLogConfig")
    assert service["common_config"]["buffer_flush_interval"] == "1.000s"
    assert service["common_config"]["buffer_size_bytes"] == 16384
    assert gate.problems() == []


async def test_several_services_get_it() -> None:
    """Defect 10: only one could exist."""
    gate = await gateway(log("a"), log("b", service="other:4000", driver="tcp"))
    assert [one["common_config"]["log_name"] for one in logs(gate)[:-1]] == ["a", "b"]
    assert len(gate.elements("envoy_cluster")) == 2
    assert gate.problems() == []


async def test_headers_are_logged_where_they_are_wanted() -> None:
    headers = [{"header_name": "x-a"}, {"header_name": "x-b", "during_response": False, "during_trailer": False}]
    service, _ = logs(await gateway(log(driver_config={"additional_log_headers": headers})))
    assert service["additional_request_headers_to_log"] == ["x-a", "x-b"]
    assert service["additional_response_headers_to_log"] == ["x-a"]
    assert service["additional_response_trailers_to_log"] == ["x-a"]


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


async def test_the_file_is_text_by_default() -> None:
    (file,) = logs(await gateway())
    assert file["path"] == "/dev/fd/1"
    assert file["log_format"]["text_format_source"]["inline_string"].startswith("ACCESS [%START_TIME%]")


@pytest.mark.parametrize("sort", ["json", "typed_json"])
async def test_the_file_can_be_json_of_ones_own(sort: str) -> None:
    (file,) = logs(await gateway(module(envoy_log_type=sort, envoy_log_format={"a": {"b": "%DURATION%"}})))
    assert file["log_format"] == {"json_format": {"a": {"b": "%DURATION%"}}}


async def test_an_amount_that_envoy_has_no_room_for_is_rejected_at_the_door() -> None:
    with pytest.raises(BadRequest, match="flush_interval_byte_size"):
        await gateway(log(flush_interval_byte_size=2**32))
