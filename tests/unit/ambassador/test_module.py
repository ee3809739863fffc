"""Which Module counts, what the others report, and where problems of settings go."""

from __future__ import annotations

import pytest

from intentc.compilers.ambassador.elements import digest
from tests.support.ambassador.hosts import MemoryGateway, listener, manifest, mapping
from tests.support.ambassador.services import (
    auth,
    clusters,
    filters,
    gateway,
    guards,
    log,
    manager,
    module,
    rate_limit,
    tracing,
)

pytestmark = pytest.mark.anyio


async def test_the_settings_reach_every_listener() -> None:
    gate = await gateway(module(server_name="ours"))
    assert manager(gate)["server_name"] == "ours"
    assert gate.problems() == []


async def test_without_a_module_the_defaults_are_in_force() -> None:
    gate = await gateway()
    assert manager(gate)["server_name"] == "envoy"
    assert guards(gate) == ["cors"]


async def test_of_several_modules_the_first_by_name_counts_and_the_others_are_reported() -> None:
    gate = await gateway(module(namespace="b", server_name="b"), module(namespace="a", server_name="a"))
    assert manager(gate)["server_name"] == "a"
    assert gate.problems() == [("module", "b:ambassador", "SecondModule")]


async def test_the_next_module_counts_when_the_first_goes() -> None:
    first = module(namespace="a", server_name="a")
    gate = await gateway(first, module(namespace="b", server_name="b"))
    await gate.service.delete(first)
    assert manager(gate)["server_name"] == "b"
    assert gate.problems() == []


@pytest.mark.parametrize("name", ["tls", "authentication", "another"])
async def test_a_module_of_another_name_reports_that_it_has_no_effect(name: str) -> None:
    gate = await gateway(module(name, server_name="x"))
    assert gate.problems() == [("module", f"gate:{name}", "NoEffect")]


async def test_a_module_of_another_gateway_has_neither_effect_nor_problems() -> None:
    theirs = manifest("Module", "ambassador", {"ambassador_id": ["b"], "config": {"server_name": 1}}, "a")
    gate = await gateway(theirs, module(server_name="ours"))
    assert manager(gate)["server_name"] == "ours"
    assert gate.problems() == []


async def test_a_problem_goes_with_its_cause() -> None:
    gate = await gateway(module(server_name=1))
    assert gate.problems() == [("module", "gate:ambassador", "InvalidSetting")]
    await gate.service.update(module(server_name="x"))
    assert gate.problems() == []


async def test_a_probe_of_a_service_is_a_route_for_every_host() -> None:
    gate = await gateway(module(liveness_probe={"service": "health:8000", "prefix": "/alive", "rewrite": "/"}))
    assert "liveness_probe" not in filters(gate)
    (route,) = gate.elements("envoy_route").values()
    assert route["tables"] == ["|*"]
    assert route["config"]["match"] == {"prefix": "/alive"}
    assert route["origins"] == [{"kind": "module", "name": "gate:ambassador", "field": "config.liveness_probe.prefix"}]
    assert clusters(gate) == ["cluster_health_8000"]


async def test_a_probe_of_a_service_that_is_none_is_reported() -> None:
    gate = await gateway(module(liveness_probe={"service": "http://a/b"}))
    assert gate.problems() == [("module", "gate:ambassador", "InvalidService")]


async def test_probes_can_be_switched_off() -> None:
    gate = await gateway(module(liveness_probe={"enabled": False}, readiness_probe={"enabled": False}))
    assert list(filters(gate)) == ["envoy.filters.http.cors", "envoy.filters.http.router"]


async def test_a_listener_names_all_who_say_what_it_does() -> None:
    """So that what Envoy has against the Module's script is reported on the Module (docs/ambassador.md §4.7)."""
    gate = await gateway(module(lua_scripts="broken("), auth(), rate_limit(), tracing(), log())
    named = [one["kind"] for one in gate.elements("envoy_listener")["gate/http"]["origins"]]
    assert named == ["auth_service", "listener", "log_service", "module", "rate_limit_service", "tracing_service"]


async def test_what_envoy_has_against_a_script_is_reported_on_the_module() -> None:
    gate = await gateway(module(lua_scripts="broken("))
    config = gate.elements("envoy_listener")["gate/http"]["config"]
    rejected = {"fq_name": ["envoy_listener", "gate/http"], "digest": digest(config), "message": "no script"}
    await gate.service.create({"kind": "envoy_rejection", "data": rejected})
    assert ("module", "gate:ambassador", "RejectedByEnvoy") in gate.problems()


async def test_words_of_the_last_good_state_are_shown_as_envoy_writes_them() -> None:
    gate = await gateway(module(lua_scripts="broken("))
    config = gate.elements("envoy_listener")["gate/http"]["config"]
    said = "envoy.filters.http.lua on 0.0.0.0:8080: script load error"
    rejected = {"fq_name": ["envoy_listener", "gate/http"], "digest": digest(config), "message": said}
    await gate.service.create({"kind": "envoy_rejection", "data": rejected | {"last_good": config}})
    (shown,) = [one.message for one in gate.service.problems if one.kind == "module"]
    assert said in shown


async def test_what_concerns_listeners_alone_evaluates_no_route() -> None:
    gate = await gateway(module(server_name="a"), mapping("shop", hostname="*"))
    evaluated = gate.service.offline.engine.progress.evaluations
    await gate.service.update(module(server_name="b"))
    assert manager(gate)["server_name"] == "b"
    # The Module and the Listener's binding.
    assert gate.service.offline.engine.progress.evaluations - evaluated <= 3


async def test_the_buffers_of_connections_are_limited_as_the_module_says() -> None:
    gate = await gateway(module(buffer_limit_bytes=4096))
    assert gate.elements("envoy_listener")["gate/http"]["config"]["per_connection_buffer_limit_bytes"] == 4096


async def test_a_listener_names_its_guards() -> None:
    gate = await gateway(module(ip_deny=[{"peer": "10.0.0.0/8"}]), auth(), rate_limit(failure_mode_deny=True))
    assert gate.elements("envoy_listener")["gate/http"]["guards"] == ["auth", "ip", "rate-limit-deny"]


async def test_the_problem_of_a_rejection_says_what_is_in_force_meanwhile() -> None:
    gate = await gateway(module(lua_scripts="broken("))
    config = gate.elements("envoy_listener")["gate/http"]["config"]
    rejected = {"fq_name": ["envoy_listener", "gate/http"], "digest": digest(config), "message": "no script"}
    await gate.service.create({"kind": "envoy_rejection", "data": rejected | {"meanwhile": "nobody listens"}})
    (shown,) = [one.message for one in gate.service.problems if one.kind == "module"]
    assert shown.endswith("no script; nobody listens")


def log_path(gate: MemoryGateway) -> str:
    (found,) = manager(gate)["access_log"]
    return str(found["typed_config"]["path"])


@pytest.mark.parametrize("path", ["/dev/stdout", "/tmp/ambassador/log", "/var/log/envoy/access.log"])
async def test_envoy_writes_its_log_in_the_usual_folders(path: str) -> None:
    gate = await gateway(module(envoy_log_path=path))
    assert (log_path(gate), gate.problems()) == (path, [])


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
