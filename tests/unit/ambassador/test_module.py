"""Which Module counts, what the others report, and where problems of settings go."""

from __future__ import annotations

import pytest

from tests.support.ambassador.hosts import MemoryGateway, listener, manifest
from tests.support.ambassador.services import (
    gateway,
    manager,
    module,
)

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", ["tls", "authentication", "another"])
async def test_a_module_of_another_name_reports_that_it_has_no_effect(name: str) -> None:
    gate = await gateway(module(name, server_name="x"))
    assert gate.problems() == [("module", f"gate:{name}", "NoEffect")]


async def test_a_module_of_another_gateway_has_neither_effect_nor_problems() -> None:
    theirs = manifest("Module", "ambassador", {"ambassador_id": ["b"], "config": {"server_name": 1}}, "a")
    gate = await gateway(theirs, module(server_name="ours"))
    assert manager(gate)["server_name"] == "ours"
    assert gate.problems() == []


async def test_a_probe_of_a_service_that_is_none_is_reported() -> None:
    gate = await gateway(module(liveness_probe={"service": "http://a/b"}))
    assert gate.problems() == [("module", "gate:ambassador", "InvalidService")]


async def test_the_buffers_of_connections_are_limited_as_the_module_says() -> None:
    gate = await gateway(module(buffer_limit_bytes=4096))
    assert gate.elements("envoy_listener")["gate/http"]["config"]["per_connection_buffer_limit_bytes"] == 4096


def log_path(gate: MemoryGateway) -> str:
    (found,) = manager(gate)["access_log"]
    return str(found["typed_config"]["path"])


@pytest.mark.parametrize("path", ["/etc/passwd", "/var/log/../../etc/passwd", "/var/logs", "/home"])
async def test_envoy_writes_no_log_elsewhere(path: str) -> None:
    gate = await gateway(module(envoy_log_path=path))
    assert (log_path(gate), gate.problems()) == ("/dev/fd/1", [("module", "gate:ambassador", "ForbiddenLogPath")])


async def test_a_setting_names_the_folders_of_logs() -> None:
    folders = {"ambassador.envoy_log_folders": ["/data/logs"]}
    gate = await MemoryGateway(folders).apply(listener(), module(envoy_log_path="/data/logs/gate"))
    assert (log_path(gate), gate.problems()) == ("/data/logs/gate", [])
    gate = await MemoryGateway(folders).apply(listener(), module(envoy_log_path="/var/log/gate"))
    assert gate.problems() == [("module", "gate:ambassador", "ForbiddenLogPath")]
