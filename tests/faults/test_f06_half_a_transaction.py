"""F06, half a transaction: the connection ends inside the response that delivers one, also one in fragments."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest

from intentc.watch.protocol import Put
from tests.faults.load import Tenants
from tests.faults.oracles import check, listed
from tests.faults.process_system import ProcessSystem
from tests.faults.scale import BASE, FRAGMENTED_BYTES, TRANSACTION_KEYS
from tests.faults.scale_writing import seeded
from tests.support.processes import Process

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


async def test_f06_a_transaction_whose_response_was_cut_is_applied_whole_or_not_at_all(bench: ProcessSystem) -> None:
    world = bench.world
    tenants = Tenants(world, seeded())
    await tenants.populate(TRANSACTION_KEYS, 2)
    compiler = bench.start()
    before = await compiler.quiet(world.revision, BASE.patience)

    bench.to_etcd.cut_inside(20_000, reject=True)
    await world.sync(*(tenants.rewritten(name) for name in sorted(tenants.groups)))
    await _cut(bench, compiler)
    _nothing_done(before, await compiler.status())

    await bench.to_etcd.heal()
    after = await compiler.quiet(world.revision, BASE.patience)
    assert after["counters"]["evaluations"] - before["counters"]["evaluations"] == TRANSACTION_KEYS
    assert listed(after) == {"first": 1}
    await check(bench, compiler, BASE.patience)


async def test_f06_no_half_of_a_cut_fragmented_transaction_is_applied(
    bench: ProcessSystem,
) -> None:
    """Both come in one response of over 1.5 MB, which etcd sends in fragments; the cut is behind the first of them, in
    the midst of the second transaction."""
    world = bench.world
    tenants = Tenants(world, seeded())
    await tenants.populate(TRANSACTION_KEYS, 2)
    compiler = bench.start()
    before = await compiler.quiet(world.revision, BASE.patience)

    await bench.to_etcd.reject()
    await compiler.until_ready(False, BASE.patience)
    first = await _rewrite_raw(tenants, "first")
    second = await _rewrite_raw(tenants, "second")
    assert second > first, "others may write in between: on this etcd a former leader's lease may end"
    await bench.to_etcd.heal()
    bench.to_etcd.cut_inside(FRAGMENTED_BYTES * 9 // 10, reject=True)
    await _cut(bench, compiler)
    half_way = await compiler.status()
    assert half_way["applied_revision"] in (before["applied_revision"], first)
    if half_way["applied_revision"] != first:
        _nothing_done(before, half_way)

    await bench.to_etcd.heal()
    after = await compiler.quiet(second, BASE.patience)
    assert listed(after) == {"first": 1}
    await check(bench, compiler, BASE.patience)


async def _cut(bench: ProcessSystem, compiler: Process) -> None:
    """Wait for the cut, and for the compiler to have noticed it: what it made of the half, it has made by then."""
    with anyio.fail_after(BASE.patience):
        await bench.to_etcd.cut_done.wait()
    await compiler.until_ready(False, BASE.patience)


def _nothing_done(before: dict[str, Any], now: dict[str, Any]) -> None:
    assert now["applied_revision"] == before["applied_revision"]
    assert now["counters"]["evaluations"] == before["counters"]["evaluations"]
    assert now["counters"]["writes"] == before["counters"]["writes"]


async def _rewrite_raw(tenants: Tenants, label: str) -> int:
    """One transaction over all groups, heavy with long titles; its revision."""
    world = tenants.world
    stored = (await world.stored())["security_group"]
    puts = []
    for name, uuid in tenants.groups.items():
        value = stored[uuid] | tenants.rewritten(name)[2] | {"display_name": label * (FRAGMENTED_BYTES // 600)}
        puts.append(Put(f"/{world.path}/security_group/{uuid}", msgspec.json.encode(value)))
    return (await world.store.transaction((), puts)).revision
