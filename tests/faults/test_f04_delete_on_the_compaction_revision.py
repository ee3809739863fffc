"""F04, a delete on the compaction revision: etcd 3.4.23 compacts it away from a watch that is opened right there
(etcd #18089, #19179), so that no event ever shows it.

The history check (``watch/missed_events.py``) finds it before the watch is opened: it asks for the last applied
revision, etcd answers that it is compacted, and everything is listed. Without that check the slow relist finds it, as a
missed event; either is counted.
"""

from __future__ import annotations

import anyio
import pytest

from tests.faults.load import Tenants
from tests.faults.oracles import check
from tests.faults.process_system import ProcessSystem
from tests.faults.scale import BASE
from tests.faults.scale_writing import seeded
from tests.support.processes import Process
from tests.support.waiting import until_true

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


async def test_f04_a_relist_finds_and_counts_a_delete_without_an_event(
    own_bench: ProcessSystem,
) -> None:
    bench, world = own_bench, own_bench.world
    # As shipped: few revisions that are not ours, and slices so slow that the watch comes first.
    bench.settings["intentc"]["watch"] = bench.settings["compilation"] = {}
    tenants = Tenants(world, seeded())
    await tenants.populate(20, 2)
    compiler = bench.start()
    await compiler.quiet(world.revision, BASE.patience)

    last = await _cut_off_without_a_revision_unseen(bench, tenants, compiler)
    gone = tenants.groups.pop("group-7")
    await world.delete_raw("security_group", gone)
    assert world.revision == last + 1, "the watch would go on at the very revision of the delete"
    await world.store.compact(world.revision)
    await bench.to_etcd.heal()

    await until_true(lambda: _collected(bench, gone), BASE.patience)
    watch = (await compiler.quiet(world.revision, BASE.patience))["watch"]
    relists = {reason: count for reason, count in watch["lists"].items() if reason != "first"}
    assert (watch["missed_events"], relists) in ((1, {}), (0, {"compacted": 1}), (0, {"relist": 1}))
    await check(bench, compiler, BASE.patience)


async def _collected(bench: ProcessSystem, group: str) -> bool:
    """Whether nothing of what followed from a group is left."""
    lists = (await bench.world.stored())["access_control_list"].values()
    return group not in {found["parent_uuid"] for found in lists}


async def _cut_off_without_a_revision_unseen(bench: ProcessSystem, tenants: Tenants, compiler: Process) -> int:
    """Cut the compiler off from etcd at a moment at which it has applied etcd's very last revision; that revision. No
    heartbeat comes in between, so that its watch goes on at the revision of the next change."""
    world = bench.world
    with anyio.fail_after(BASE.patience):
        while True:
            await tenants.sync([tenants.rewritten("group-1")])
            await compiler.quiet(world.revision, BASE.patience)
            await bench.to_etcd.reject()
            now = (await world.store.range(f"/{world.path}/", keys_only=True)).revision
            if (await compiler.status())["applied_revision"] == now:
                return now
            await bench.to_etcd.heal()
            await compiler.until_ready(True, BASE.patience)
