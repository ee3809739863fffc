"""F02, kill -9 everywhere: at each named crash point and at random times, in the midst of work of every sort."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import httpx2
import pytest

from intentc.dev.etcd_server import Etcd
from intentc.plugins import Loaded
from intentc.watch.etcd import EtcdStore
from intentc.watch.protocol import Delete
from tests.faults.load import Tenants
from tests.faults.oracles import check
from tests.faults.process_system import ProcessSystem, running_bench
from tests.faults.scale import CHAINS, KILL_PATIENCE, RANDOM_KILLS, VISITS
from tests.faults.scale_writing import seeded
from tests.support.crash_points import POINTS
from tests.support.processes import Process

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

SIGKILLED = -9
_ROUNDS = 12
_BEFORE = {"groups": 8, "networks": 4}

_AT = [f"{point}:{visit}" for visit in VISITS for point in sorted(POINTS)]
CRASHES = [tuple(_AT[first::CHAINS]) for first in range(CHAINS)] if CHAINS else [(crash,) for crash in _AT]
"""The crash points of each world, one process after the other."""


@pytest.fixture
async def half_done(
    etcd: Etcd, etcd_store: EtcdStore, loaded: Loaded, tmp_path: Path
) -> AsyncIterator[tuple[ProcessSystem, Tenants]]:
    """A world that nobody has compiled yet; few writes share a request, so that there are many. The API server, of
    which nothing is asked here but to be there, runs in this process: that is quicker."""
    async with running_bench(etcd_store, [etcd.endpoint], loaded, tmp_path, own_api_process=False) as bench:
        bench.settings["intentc"]["limits"] |= {"writes_in_batch": 3, "concurrent_writes": 2}
        tenants = Tenants(bench.world, seeded())
        await tenants.populate(**_BEFORE)
        yield bench, tenants


@pytest.mark.parametrize("crashes", CRASHES, ids=" ".join)
async def test_f02_a_process_that_is_killed_at_a_crash_point_costs_nothing_but_time(
    half_done: tuple[ProcessSystem, Tenants], crashes: tuple[str, ...]
) -> None:
    """Each process repairs what the one before it left half done, unless it dies at its own start."""
    bench, tenants = half_done
    for crash in crashes:
        bench.settings["intentc"]["audit"] = {"period": "1s" if crash.startswith("audit.begun") else "1h"}
        doomed = await bench.restarted(crash=crash)
        await _work_until_dead(bench, tenants, doomed)
        assert doomed.process.wait() == SIGKILLED, doomed.log[-3000:]
    await check(bench, await bench.restarted(), KILL_PATIENCE)


@pytest.mark.parametrize("number", range(RANDOM_KILLS))
async def test_f02_a_process_that_is_killed_at_any_time_costs_nothing_but_time(
    half_done: tuple[ProcessSystem, Tenants], number: int
) -> None:
    bench, tenants = half_done
    doomed = bench.start()
    await _work_until_dead(bench, tenants, doomed, after=tenants.chance.uniform(0.3, 2.0))
    await check(bench, await bench.restarted(), KILL_PATIENCE)


async def _work_until_dead(bench: ProcessSystem, tenants: Tenants, doomed: Process, after: float | None = None) -> None:
    """Work over and over until the process has died, ``after`` seconds by our hand. Fails if it never does: then
    nothing was tried."""
    async with anyio.create_task_group() as group:

        async def work() -> None:
            for _ in range(_ROUNDS):
                try:
                    await _one_of_each(bench, tenants, doomed)
                except (AssertionError, httpx2.TransportError):
                    if doomed.alive:
                        raise
                    return  # its end is what made the work fail

        async def end() -> None:
            if after is not None:
                await anyio.sleep(after)  # the moment is what is drawn, nothing is waited for
                doomed.kill()
            await doomed.died(within=KILL_PATIENCE * 2)
            group.cancel_scope.cancel()

        group.start_soon(end)
        group.start_soon(work)
    assert not doomed.alive, f"it has never come there:\n{doomed.log[-2000:]}"
    await bench.heal()


async def _one_of_each(bench: ProcessSystem, tenants: Tenants, compiler: Process) -> None:
    """Everything that makes a compiler come to any of its crash points: creates, updates, references, numbers given and
    freed, deletes, a listing, a lost leadership."""
    world = bench.world

    async def quiet() -> None:
        await compiler.quiet(world.revision, KILL_PATIENCE)

    await quiet()
    await world.assert_compiled()
    made = tenants.extra()
    await tenants.sync(made)
    await quiet()
    await tenants.sync([tenants.rewritten(name) for name in sorted(tenants.groups)[:3]])
    await quiet()
    await tenants.sync(tenants.taken_back(made))
    await quiet()
    await bench.to_etcd.reject()
    await world.create("security_group", f"unseen-{world.revision}")
    await world.store.compact(world.revision)
    await bench.to_etcd.heal()
    await quiet()
    await world.store.transaction((), [Delete(f"/intentc/{world.path}/leader")])
    await world.create("security_group", f"later-{world.revision}")
    await quiet()
