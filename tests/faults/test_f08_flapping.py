"""F08, flapping: the connections to etcd are cut five times a second, for long."""

from __future__ import annotations

import time

import anyio
import pytest

from tests.faults.load import Tenants, offer
from tests.faults.oracles import check, flat
from tests.faults.process_system import ProcessSystem
from tests.faults.scale import BASE, FLAPPING_SECONDS, FLAPPING_SETTLED_AFTER, FULL
from tests.faults.scale_writing import seeded
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

_BETWEEN_CUTS = 0.2
_CONNECTIONS = 4
"""That one compiler has to etcd: a watch each on resources, on orders, on the leader, and one of all other calls. The
bound of once a second holds for each of them."""
_CONVERGED_WITHIN = 5.0 if FULL else PATIENCE


async def test_f08_a_flapping_connection_causes_back_off_and_no_growth(
    bench: ProcessSystem,
) -> None:
    world = bench.world
    tenants = Tenants(world, seeded())
    await tenants.populate(BASE.groups, BASE.networks)
    # As shipped: what the bench hastens would connect more often.
    bench.settings["intentc"]["watch"] = bench.settings["compilation"] = {}
    compiler = bench.start()
    await compiler.quiet(world.revision, BASE.patience)
    used = compiler.usage()

    began = time.monotonic()
    async with anyio.create_task_group() as flapping:
        flapping.start_soon(_flap, bench)
        await offer(tenants, BASE._replace(seconds=FLAPPING_SECONDS))
        flapping.cancel_scope.cancel()
    # On a busy machine the offered load, and with it the flapping, takes longer than its seconds.
    seconds = time.monotonic() - began - FLAPPING_SETTLED_AFTER
    late = [at for at in bench.to_etcd.connects if at > began + FLAPPING_SETTLED_AFTER]
    a_second = len(late) / seconds
    print(f"{a_second:.2f} connects a second after {FLAPPING_SETTLED_AFTER:g} s, on {_CONNECTIONS} connections")
    assert a_second <= _CONNECTIONS

    await compiler.quiet(world.revision, _CONVERGED_WITHIN)
    flat(used, compiler.usage())
    await check(bench, compiler, BASE.patience)


async def _flap(bench: ProcessSystem) -> None:
    while True:
        bench.to_etcd.reset()
        await anyio.sleep(_BETWEEN_CUTS)
