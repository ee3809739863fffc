"""``intentc status`` of real processes: two words, the role, and what a person must do; SIGHUP as a service manager
sends it."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from intentc.watch.protocol import Put
from tests.support.commands import SAMPLE, Intentc
from tests.support.live_system import LiveSystem
from tests.support.processes import Process
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

ADDRESS = "INTENTC_INTENTC__DIAGNOSTICS__ADDRESS"


async def status(intentc: Intentc, service: Process) -> tuple[int, dict[str, Any]]:
    """The exit code, and the document."""
    address = (await service.url()).removeprefix("http://")
    ended = await intentc("status", "-o", "json", environment={ADDRESS: address})
    return ended.code, ended.json


async def test_a_leader_and_a_standby_show_their_role_and_converged(intentc: Intentc, world: LiveSystem) -> None:
    assert (await intentc("apply", SAMPLE)).code == 0
    leader = intentc.start()
    await leader.settled(1)
    standby = intentc.start()
    await standby.settled(1)
    for service, role in ((leader, "leader"), (standby, "standby")):
        code, shown = await status(intentc, service)
        assert code == 0
        assert (shown["converged"], shown["healthy"], shown["role"], shown["pending_work"]) == (True, True, role, [])
        assert shown["lag_revisions"] == 0
        assert shown["progress"] is None


async def test_status_of_a_compiler_that_holds_something_ends_with_5(intentc: Intentc, world: LiveSystem) -> None:
    assert (await intentc("apply", SAMPLE)).code == 0
    service = intentc.start()
    await service.settled(1)
    uuid = next(iter((await world.stored())["security_group"]))
    broken = await world.store.transaction([], [Put(f"/{world.path}/security_group/{uuid}", b'{"fq_name": 7}')])
    await service.settled(broken.revision)
    code, shown = await status(intentc, service)
    assert (code, shown["converged"], shown["healthy"]) == (5, True, False)
    assert "`intentc quarantine list`" in shown["attention"][0]


async def test_a_service_reloads_at_sighup_and_ends_at_sigterm(intentc: Intentc, world: LiveSystem) -> None:
    service = intentc.start()
    await service.settled(1)
    right = intentc.configuration.read_bytes()
    intentc.configuration.write_text("intentc: {journals: {}}\n")
    service.process.send_signal(signal.SIGHUP)
    await until(lambda: "reload rejected" in service.log)
    intentc.configuration.write_bytes(right)
    code, shown = await status(intentc, service)
    assert code == 0
    assert "journals" in shown["reload"]["last_error"]
    service.process.send_signal(signal.SIGHUP)
    await until(lambda: '"reloaded"' in service.log)
    code, shown = await status(intentc, service)
    assert (shown["reload"]["reloads"], shown["reload"]["failures"], shown["reload"]["last_error"]) == (1, 1, None)
    assert await service.terminate() == 0
