"""F03, compacted while away: the compiler stands still while much happens, and its place in the history is gone."""

from __future__ import annotations

import pytest

from tests.faults.load import Tenants
from tests.faults.oracles import check, listed
from tests.faults.process_system import ProcessSystem
from tests.faults.scale import BASE, WHILE_AWAY
from tests.faults.scale_writing import seeded

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


async def test_f03_one_listing_shows_everything_that_was_compacted_exactly_once(
    own_bench: ProcessSystem,
) -> None:
    bench, world = own_bench, own_bench.world
    bench.settings["intentc"]["limits"]["max_deletes"] = 2 * WHILE_AWAY.deletes
    tenants = Tenants(world, seeded())
    await tenants.populate(WHILE_AWAY.keys, BASE.networks)
    compiler = bench.start()
    before = await compiler.quiet(world.revision, BASE.patience)

    compiler.suspend()
    # Before anything happens: what lay in the wire already would be evaluated revision by revision.
    await bench.to_etcd.reject()
    doomed = tenants.chance.sample(sorted(tenants.groups), WHILE_AWAY.deletes)
    for _ in range(WHILE_AWAY.puts // WHILE_AWAY.keys):
        await tenants.sync([tenants.rewritten(name) for name in sorted(tenants.groups)])
    await tenants.sync(tenants.removed(doomed))
    await world.store.compact(world.revision)
    await bench.to_etcd.heal()
    compiler.resume()

    after = await compiler.quiet(world.revision, BASE.patience)
    reasons = listed(after)
    assert reasons.pop("first") == 1
    assert reasons in ({"compacted": 1}, {"relist": 1}), "the watch or the relist asks for it, whichever is first"
    assert after["watch"]["duplicates"] == 0
    evaluations = after["counters"]["evaluations"] - before["counters"]["evaluations"]
    assert evaluations <= len(tenants.groups) * 2, "each that changed, and each that read one that went, once"
    named = {found["fq_name"][-2] for found in (await world.stored())["access_control_list"].values()}
    assert not named & set(doomed)
    await check(bench, compiler, BASE.patience)
