"""F09, etcd's leader is killed, twice, and a follower is paused, while changes come in."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from anyio.to_thread import run_sync

from intentc.plugins import Loaded
from intentc.watch.etcd import EtcdStore
from tests.faults.etcd_cluster import Cluster, running_cluster
from tests.faults.load import Tenants
from tests.faults.oracles import check
from tests.faults.process_system import ProcessSystem, running_bench
from tests.faults.scale import BASE, in_full
from tests.faults.scale_writing import seeded

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

LAG_SECONDS = 10.0


@pytest.fixture
async def cluster_bench(loaded: Loaded, tmp_path: Path) -> AsyncIterator[tuple[ProcessSystem, Cluster]]:
    """A bench on three members."""
    with running_cluster(tmp_path) as cluster:
        store = EtcdStore(cluster.endpoints, timeout=5.0)
        try:
            async with running_bench(store, cluster.endpoints, loaded, tmp_path) as bench:
                yield bench, cluster
        finally:
            await store.close()


async def test_f09_a_killed_leader_of_etcd_costs_a_pause_and_no_write_twice(
    cluster_bench: tuple[ProcessSystem, Cluster],
) -> None:
    bench, cluster = cluster_bench
    world = bench.world
    tenants = Tenants(world, seeded())
    await tenants.populate(BASE.groups, BASE.networks)
    compiler = bench.start()
    await compiler.quiet(world.revision, BASE.patience)
    lags = []
    for _ in range(2):
        leader = await run_sync(cluster.leader)
        await run_sync(leader.kill)
        await run_sync(cluster.leader)
        lags.append(await _lag(bench, tenants))
        cluster.start(leader)
    # A member that was started just now and does not follow yet would cost the quorum.
    await run_sync(cluster.until_healthy)
    leader = await run_sync(cluster.leader)
    follower = next(member for member in cluster.members if member is not leader)
    follower.suspend()
    lags.append(await _lag(bench, tenants))
    follower.resume()
    print("seconds from a change to its outputs:", [round(lag, 2) for lag in lags])
    assert in_full(max(lags) < LAG_SECONDS)
    await check(bench, compiler, BASE.patience)


async def _lag(bench: ProcessSystem, tenants: Tenants) -> float:
    """Seconds from the moment at which a person's change is accepted until all that follows from it is there. The
    person, too, may have to ask again."""
    world = bench.world
    compiler = bench.compilers[-1]
    with anyio.fail_after(BASE.patience):
        while True:
            name = sorted(tenants.groups)[0]
            try:
                await tenants.sync([tenants.rewritten(name)])
                break
            except AssertionError:
                await anyio.sleep(0.2)
    began = time.monotonic()
    await compiler.quiet(world.revision, BASE.patience)
    return time.monotonic() - began
