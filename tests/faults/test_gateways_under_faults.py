"""F02, F03, F06, F07 and F21 again, where the compiler is Ambassador's: what is made hangs on facts, not on references.

The engine is the one that the other scenarios try at length; here each fault strikes once. The oracle is a
compile from nothing (``gateway_load.py``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from intentc.dev.etcd_server import Etcd
from intentc.plugins import Loaded, find_compilers, load_all
from intentc.watch.etcd import EtcdStore
from tests.faults.fault_proxy import Way
from tests.faults.gateway_load import Gateway, GatewayWorld
from tests.faults.oracles import check, listed
from tests.faults.process_system import ProcessSystem, running_bench
from tests.faults.scale import KILL_PATIENCE
from tests.faults.scale_writing import seeded
from tests.support.processes import Process

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

SIGKILLED = -9
MAPPINGS, HOSTS = 60, 6
LATE = 0.2
"""Seconds by which answers of the API server come after the echoes of what they answer."""
CRASHES = {
    "batch.applied": 0.0,
    "evaluate.done": 0.0,
    "create.sent": 0.0,
    "create.answered": 0.0,
    "delete.sent": 0.0,
    "echo.seen": LATE,
}
"""By how much answers are late."""


@pytest.fixture(scope="module")
def gateways() -> Loaded:
    return load_all(find_compilers(["ambassador"]))


@pytest.fixture
async def gateway(
    fresh_etcd: Etcd, fresh_etcd_store: EtcdStore, gateways: Loaded, tmp_path: Path
) -> AsyncIterator[tuple[ProcessSystem, Gateway, Process]]:
    """A gateway that is compiled, and its compiler at work."""
    async with running_bench(
        fresh_etcd_store, [fresh_etcd.endpoint], gateways, tmp_path, own_api_process=False, of=GatewayWorld
    ) as bench:
        bench.settings["intentc"]["limits"] |= {"max_deletes": 100, "writes_in_batch": 5, "concurrent_writes": 2}
        load = Gateway(bench.world, seeded())
        await load.populate(MAPPINGS, HOSTS)
        compiler = bench.start()
        await compiler.quiet(bench.world.revision, KILL_PATIENCE)
        yield bench, load, compiler


async def _change_all(load: Gateway, gone: int = 5) -> None:
    await load.sync([load.rewritten(name) for name in sorted(load.mappings)])
    await load.sync(load.removed(load.chance.sample(sorted(load.mappings), gone)))
    await load.sync(load.extra())


async def test_f02_kills_at_crash_points_cost_a_gateways_compiler_only_time(
    gateway: tuple[ProcessSystem, Gateway, Process],
) -> None:
    bench, load, _ = gateway
    for crash, bench.to_api.delay_seconds in CRASHES.items():
        await _change_all(load)
        doomed = await bench.restarted(crash=crash)
        try:
            assert await doomed.died(KILL_PATIENCE) == SIGKILLED, doomed.log[-3000:]
        except TimeoutError as error:
            raise AssertionError(f"it has not come to {crash}: {error}") from None
    await bench.heal()
    await check(bench, await bench.restarted(), KILL_PATIENCE)


async def test_f03_one_listing_shows_what_was_compacted_while_a_gateways_compiler_was_away(
    gateway: tuple[ProcessSystem, Gateway, Process],
) -> None:
    bench, load, compiler = gateway
    compiler.suspend()
    await bench.to_etcd.reject()
    for _ in range(5):
        await _change_all(load)
    await bench.world.store.compact(bench.world.revision)
    await bench.to_etcd.heal()
    compiler.resume()
    reasons = listed(await compiler.quiet(bench.world.revision, KILL_PATIENCE))
    assert reasons.pop("first") == 1
    assert reasons in ({"compacted": 1}, {"relist": 1})
    await check(bench, compiler, KILL_PATIENCE)


async def test_f06_a_cut_transaction_over_many_mappings_is_applied_whole_or_not(
    gateway: tuple[ProcessSystem, Gateway, Process],
) -> None:
    bench, load, compiler = gateway
    before = await compiler.status()
    bench.to_etcd.cut_inside(5_000, reject=True)
    await bench.world.sync(*(load.rewritten(name) for name in sorted(load.mappings)))
    with anyio.fail_after(KILL_PATIENCE):
        await bench.to_etcd.cut_done.wait()
    await compiler.until_ready(False, KILL_PATIENCE)
    cut = await compiler.status()
    assert cut["applied_revision"] == before["applied_revision"]
    assert cut["counters"]["evaluations"] == before["counters"]["evaluations"]
    await bench.to_etcd.heal()
    assert listed(await compiler.quiet(bench.world.revision, KILL_PATIENCE)) == {"first": 1}
    await check(bench, compiler, KILL_PATIENCE)


async def test_f07_changes_of_a_gateway_that_a_silent_watch_missed_are_replayed(
    gateway: tuple[ProcessSystem, Gateway, Process],
) -> None:
    bench, load, compiler = gateway
    await compiler.until_ready(True, KILL_PATIENCE)
    bench.to_etcd.blackhole(Way.TO_CLIENT)
    await _change_all(load)
    await compiler.until_ready(False, KILL_PATIENCE)
    await bench.heal()
    await compiler.until_ready(True, KILL_PATIENCE)
    assert listed(await compiler.quiet(bench.world.revision, KILL_PATIENCE)) == {"first": 1}
    await check(bench, compiler, KILL_PATIENCE)


async def test_f21_a_standby_continues_where_a_gateways_leader_was_killed(
    gateway: tuple[ProcessSystem, Gateway, Process],
) -> None:
    bench, load, leader = gateway
    standby = bench.start()
    await standby.quiet(bench.world.revision, KILL_PATIENCE, standby=True)
    assert (await standby.status())["counters"]["writes"] == 0
    leader.kill()
    await _change_all(load)
    status = await standby.quiet(bench.world.revision, KILL_PATIENCE)
    assert dict(status["watch"]["lists"]) == {"first": 1}, "warm: nothing was listed again"
    assert status["counters"]["writes"] > 0
    await check(bench, standby, KILL_PATIENCE)
