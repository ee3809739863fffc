"""``intentc run`` as a process: killed, ended by a signal, observing, and asked over its diagnostics port."""

from __future__ import annotations

import anyio
import msgspec
import pytest

from tests.support.commands import Intentc
from tests.support.contrail_content import network, tenant
from tests.support.live_system import LiveSystem
from tests.support.processes import Process
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


@pytest.mark.parametrize("calls", [1, 6, 14])
async def test_a_restart_repairs_what_a_kill_during_the_load_left(
    world: LiveSystem, intentc: Intentc, calls: int
) -> None:
    """Killed when so many mutating requests have arrived; no object twice, no number leaked, none changed."""
    await tenant(world)
    service = intentc.start()
    world.calls.at_mutation(calls, service.kill)
    await until(lambda: service.process.poll() is not None)
    numbers = await world.numbers()
    owned = len(await world.owned())

    again = intentc.start()
    await again.settled(world.revision)
    assert 20 <= len(await world.owned()) > owned
    assert numbers.items() <= (await world.numbers()).items()
    await world.assert_compiled()

    world.calls.seen.clear()
    again.kill()
    third = intentc.start()
    await third.settled(world.revision)
    assert world.calls.mutations == {}


async def test_a_successor_on_the_same_machine_does_not_wait_for_the_lease(world: LiveSystem, intentc: Intentc) -> None:
    """The lease lasts ten minutes, longer than any wait here."""
    configuration = msgspec.json.decode(intentc.configuration.read_bytes())
    configuration["compilation"]["msg_queue_lock_time"] = 600
    intentc.write(configuration)

    async def fence(service: Process) -> str:
        """By which it writes, once it does."""
        with anyio.fail_after(60):
            while True:
                status = await service.status()
                if status["leading"]["leads"] and status["writing"]["permitted"]:
                    return str(status["leading"]["fence"])
                await anyio.sleep(0.02)

    first = intentc.start()
    former = await fence(first)
    first.kill()
    second = intentc.start()
    assert await fence(second) != former
    assert "has died on this machine" in second.log
    await network(world, "v")
    await second.settled(world.revision)
    await world.assert_compiled()


async def test_the_running_compiler_can_be_asked_for_its_views(world: LiveSystem, intentc: Intentc) -> None:
    service = intentc.start()
    await service.settled(world.revision)
    assert sorted((await service.get("/views")).json()["views"]) == ["leftovers", "planned", "problems"]
    assert (await service.get("/views/problems")).json()["rows"] == []


async def test_sigterm_drains_and_exits_with_0_also_in_the_middle_of_a_load(
    world: LiveSystem, intentc: Intentc
) -> None:
    await tenant(world)
    service = intentc.start()
    await until(lambda: sum(world.calls.mutations.values()) >= 4)
    assert await service.terminate() == 0
    assert "drained: " in service.log
    assert "Traceback" not in service.log

    again = intentc.start()
    await again.settled(world.revision)
    await world.assert_compiled()
    assert await again.terminate() == 0


async def test_observe_writes_and_allocates_nothing_and_its_status_shows_what_it_would_do(
    world: LiveSystem, intentc: Intentc
) -> None:
    await tenant(world, 3)
    before = await world.values()
    service = intentc.start("--observe")
    status = await service.settled(world.revision)
    assert world.calls.mutations == {}
    assert await world.values() == before
    assert status["observing"] is True
    assert {"object", "writes"} == status["planned"][0].keys()
    assert any("group-0" in entry["object"] and entry["writes"] == ["create"] for entry in status["planned"])
    environment = {"INTENTC_INTENTC__DIAGNOSTICS__ADDRESS": (await service.url()).removeprefix("http://")}
    shown = await intentc("show", "planned", "--filter", "group-0:ingress", environment=environment)
    assert "access_control_list" in shown.out
    assert "create" in shown.out
    seen = await intentc("status", environment=environment)
    assert f"would write {len(status['planned'])} objects: `intentc show planned`" in seen.out
    await until(lambda: "objects would be written: `intentc show planned`" in service.log)


async def test_a_running_process_shows_its_health_readiness_status_and_metrics(
    world: LiveSystem, intentc: Intentc
) -> None:
    service = intentc.start("run")
    await service.settled(world.revision)
    await network(world, "v")
    status = await service.settled(world.revision)
    assert (await service.get("/healthz")).json() == {"ok": True, "reasons": []}
    assert (await service.get("/readyz")).json() == {"ok": True, "reasons": []}
    assert status["healthy"] is True
    assert status["counters"]["writes"] >= 2
    metrics = (await service.get("/metrics")).text
    assert "intentc_converged 1.0" in metrics
    assert f"intentc_writes_total {float(status['counters']['writes'])}" in metrics


async def test_a_process_whose_etcd_and_api_server_are_away_is_alive_and_not_ready(
    world: LiveSystem, intentc: Intentc
) -> None:
    intentc.write(
        {
            "etcd": {"endpoints": ["127.0.0.1:1"], "path": world.path},
            "client": {"endpoint": "http://127.0.0.1:1"},
            "intentc": {"diagnostics": {"address": "127.0.0.1:0"}},
        }
    )
    service = intentc.start()
    ready = await service.get("/readyz")
    assert ready.status_code == 503
    assert ready.json()["reasons"]
    assert service.process.poll() is None
    assert await service.terminate() == 0


async def test_the_log_has_one_json_object_per_line_and_no_bodies(world: LiveSystem, intentc: Intentc) -> None:
    service = intentc.start()
    await service.settled(world.revision)
    await world.create("security_group", "g", display_name="a-canary-in-a-body")
    await service.settled(world.revision)
    assert await service.terminate() == 0
    lines = [msgspec.json.decode(line) for line in service.log.splitlines()]
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
    assert any("database" in line["message"] for line in lines)
    assert "a-canary-in-a-body" not in service.log
