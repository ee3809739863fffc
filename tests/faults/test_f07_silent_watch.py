"""F07, a silent watch: the connection stands, but nothing comes from etcd any more."""

from __future__ import annotations

import time

import anyio
import pytest

from tests.faults.fault_proxy import Way
from tests.faults.load import Tenants
from tests.faults.oracles import check, listed
from tests.faults.process_system import HEARTBEAT_SECONDS, ProcessSystem
from tests.faults.scale import BASE, PUTS_IN_SILENCE, SILENT_SECONDS, in_full
from tests.faults.scale_writing import seeded

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

PATIENCE = 3 * HEARTBEAT_SECONDS
"""Silence after which the watch counts as dead."""


async def test_f07_a_silent_watch_is_detected_shown_by_readyz_and_resumed(bench: ProcessSystem) -> None:
    world = bench.world
    tenants = Tenants(world, seeded())
    await tenants.populate(BASE.groups, BASE.networks)
    compiler = bench.start()
    before = await compiler.quiet(world.revision, BASE.patience)
    await compiler.until_ready(True, BASE.patience)

    bench.to_etcd.blackhole(Way.TO_CLIENT)
    began = time.monotonic()
    await tenants.sync(tenants.rewritten(tenants.chance.choice(list(tenants.groups))) for _ in range(PUTS_IN_SILENCE))
    await compiler.until_ready(False, BASE.patience)
    noticed = time.monotonic() - began
    print(f"silence was noticed after {noticed:.2f} s")
    assert in_full(noticed < 2 * PATIENCE)
    while time.monotonic() < began + SILENT_SECONDS:
        assert not (await compiler.ready())[0], "ready while blind"
        await anyio.sleep(1)
    blind = await compiler.status()
    assert blind["counters"]["evaluations"] == before["counters"]["evaluations"]

    await bench.heal()
    await compiler.until_ready(True, BASE.patience)
    after = await compiler.quiet(world.revision, BASE.patience)
    assert listed(after) == {"first": 1}, "few revisions were missed: they are replayed"
    await check(bench, compiler, BASE.patience)
