"""F21, two leaders: one is stopped, another takes over, the first comes back and believes for a moment that it leads.

Nothing of what the former leader sends is accepted. Its requests that were under way when it was stopped are held on
the wire until another leads, which is the worst moment for them to arrive.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable

import anyio
import pytest

from tests.faults.fault_proxy import Way, fault_proxy
from tests.faults.load import Tenants
from tests.faults.oracles import check, everything
from tests.faults.process_system import LEASE_SECONDS, ProcessSystem
from tests.faults.scale import BASE, TAKEOVERS, in_full
from tests.faults.scale_writing import seeded
from tests.support.processes import Process
from tests.support.waiting import pauses

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

TAKEN_OVER_WITHIN = LEASE_SECONDS + 2.0


async def leads(compiler: Process) -> bool:
    status = await compiler.status()
    return bool(status["leading"]["leads"] and status["writing"]["permitted"])


async def until_leading(compiler: Process) -> None:
    await reached(lambda: leads(compiler))


async def until_warm(compiler: Process) -> None:
    """A standby that has seen and evaluated everything."""

    async def warm() -> bool:
        return bool((await compiler.status())["first_pass_complete"])

    await reached(warm)


async def writes(compiler: Process) -> int:
    return int((await compiler.status())["counters"]["writes"])


async def in_flight(compiler: Process) -> int:
    return int((await compiler.status())["queue"]["in_flight"])


async def reached(condition: Callable[[], Awaitable[bool]]) -> None:
    """Ask until it holds. Raises ``TimeoutError``."""
    with anyio.fail_after(BASE.patience):
        for pause in pauses(0.03):
            if await condition():
                return
            await anyio.sleep(pause)


async def test_f21_writes_of_a_former_leader_are_rejected_and_the_standby_lists_nothing(bench: ProcessSystem) -> None:
    world = bench.world
    tenants = Tenants(world, seeded())
    await tenants.populate(BASE.groups, BASE.networks)
    standby_wire = bench.settings["client"]["endpoint"]
    async with fault_proxy(bench.to_api.target) as leaders_wire:
        bench.settings["client"]["endpoint"] = f"http://{leaders_wire.address}"
        leader = bench.start()
        await leader.quiet(world.revision, BASE.patience)
        bench.settings["client"]["endpoint"] = standby_wire
        standby = bench.start()
        await until_warm(standby)
        assert await writes(standby) == 0

        leaders_wire.blackhole(Way.TO_SERVER)
        await tenants.sync(tenants.changes(10))
        await tenants.sync(tenants.extra())

        async def sender() -> bool:
            return await in_flight(leader) > 0

        await reached(sender)
        written = await writes(leader)
        leader.suspend()
        stopped = time.monotonic()
        await until_leading(standby)
        # Counted from the stop, though the lease was renewed up to a third of its life before.
        assert in_full(time.monotonic() - stopped <= TAKEN_OVER_WITHIN)
        status = await standby.quiet(world.revision, BASE.patience)
        assert status["counters"]["writes"] > 0
        assert dict(status["watch"]["lists"]) == {"first": 1}, "warm: nothing was listed again"
        await anyio.sleep(max(0.0, stopped + 3 * LEASE_SECONDS - time.monotonic()))

        before = await everything(world)
        leader.resume()
        await leaders_wire.heal()

        async def stood_down() -> bool:
            return not (await in_flight(leader) or await leads(leader))

        await reached(stood_down)
        await leader.quiet(world.revision, BASE.patience, standby=True)
        assert await everything(world) == before, "nothing of the former leader's was accepted"
        assert await writes(leader) == written

    bench.settings["client"]["endpoint"] = standby_wire
    await check(bench, standby, BASE.patience)


async def test_f21_a_killed_leader_is_replaced_within_its_lease_and_two_seconds(bench: ProcessSystem) -> None:
    world = bench.world
    tenants = Tenants(world, seeded())
    await tenants.populate(BASE.groups, BASE.networks)
    leader = bench.start()
    await leader.quiet(world.revision, BASE.patience)
    took: list[float] = []
    for _ in range(TAKEOVERS):
        standby = bench.start()
        await until_warm(standby)
        leader.kill()
        killed = time.monotonic()
        await tenants.sync(tenants.extra())

        async def written(next_leader: Process = standby) -> bool:
            return await writes(next_leader) > 0

        await reached(written)
        took.append(time.monotonic() - killed)
        status = await standby.quiet(world.revision, BASE.patience)
        assert dict(status["watch"]["lists"]) == {"first": 1}
        leader = standby
    print(
        f"from SIGKILL to the first write of the next leader, lease {LEASE_SECONDS} s, {len(took)} times: "
        f"min {min(took):.2f}, median {statistics.median(took):.2f}, max {max(took):.2f} s"
    )
    assert in_full(max(took) <= TAKEN_OVER_WITHIN)
    await check(bench, leader, BASE.patience)


async def test_f21_a_leader_that_ends_in_peace_is_replaced_at_once(bench: ProcessSystem) -> None:
    world = bench.world
    tenants = Tenants(world, seeded())
    await tenants.populate(BASE.groups, BASE.networks)
    # Nobody here waits for the end of such a lease.
    bench.settings["compilation"] = {"msg_queue_lock_time": f"{9 * BASE.patience:.0f}s"}
    leader = bench.start()
    await leader.quiet(world.revision, BASE.patience)
    standby = bench.start()
    await until_warm(standby)
    assert await leader.terminate() == 0
    await until_leading(standby)
    await tenants.sync(tenants.extra())
    await check(bench, standby, BASE.patience)
