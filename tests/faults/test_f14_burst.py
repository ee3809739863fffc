"""F14, a burst: many puts on few keys in short time, among them one group that many others name."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import anyio
import msgspec
import pytest

from intentc.watch.protocol import Put
from tests.faults.bench import Bench
from tests.faults.load import REACHED, Tenants
from tests.faults.oracles import check, listed
from tests.faults.processes import Process
from tests.faults.scale import BASE, BURST, BURST_SECONDS
from tests.faults.scale_writing import seeded
from tests.integration.compile.contents import LOCAL, group, rule, rules
from tests.integration.compile.world import World

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

HUB = "group-0"
_IN_TRANSACTION = 50
_STALE_SECONDS = 2.0
_MORE_MEMORY = 64 << 20


class Burst(NamedTuple):
    """What a burst cost: ``evaluations`` and the deepest job ``queue``, bytes of memory, and how many seconds after the
    last put all was quiet (``stale``)."""

    evaluations: int
    queue: int
    memory: int
    stale: float


async def test_f14_after_a_burst_the_last_values_win_and_neither_queue_nor_memory_grew_with_it(bench: Bench) -> None:
    compiler = await _crowd(bench)
    cost = await _burst(bench, compiler)
    assert cost.queue <= BURST.keys + BURST.dependants + 2
    assert cost.memory < _MORE_MEMORY
    assert listed(await compiler.status()) == {"first": 1}
    await check(bench, compiler, BASE.patience)


@pytest.mark.xfail(
    reason="jobs are gathered only as far as evaluating lags behind: a compiler that keeps up evaluates every put",
    strict=True,
)
async def test_f14_a_burst_costs_a_handful_of_evaluations_a_key_and_is_soon_over(bench: Bench) -> None:
    compiler = await _crowd(bench)
    cost = await _burst(bench, compiler)
    assert cost.evaluations <= 3 * BURST.keys + BURST.dependants
    assert cost.stale < _STALE_SECONDS


async def _crowd(bench: Bench) -> Process:
    """A compiler that has compiled the groups, the hub among them, and those that name the hub."""
    tenants = Tenants(bench.world, seeded())
    await tenants.populate(BURST.keys, 2)
    await _name_the_hub(tenants, BURST.dependants)
    compiler = bench.start()
    await compiler.quiet(bench.world.revision, BASE.patience)
    return compiler


async def _burst(bench: Bench, compiler: Process) -> Burst:
    before, used = await compiler.status(), compiler.usage()
    deepest = [0]
    async with anyio.create_task_group() as watching:
        watching.start_soon(_look_at_the_queue, compiler, deepest)
        await _put_all(bench.world)
        last = time.monotonic()
        after = await compiler.quiet(bench.world.revision, BASE.patience)
        watching.cancel_scope.cancel()
    evaluations = after["counters"]["evaluations"] - before["counters"]["evaluations"]
    cost = Burst(evaluations, deepest[0], compiler.usage().memory - used.memory, time.monotonic() - last)
    print(cost)
    return cost


async def _name_the_hub(tenants: Tenants, count: int) -> None:
    """So many groups more, each with a rule that names the hub."""
    identities = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(count)]
    await tenants.sync([tenants.group(f"at-hub-{uuid}", rules(rule(uuid, group(HUB), LOCAL))) for uuid in identities])


async def _put_all(world: World) -> None:
    """Put all values over and over, past the API server, which is not what is tried here. Fails if the rate was not
    reached."""
    stored = (await world.stored())["security_group"].values()
    templates = [_template(world, found) for found in stored if found["fq_name"][-1].startswith("group-")]
    assert len(templates) == BURST.keys
    begun, sent = time.monotonic(), 0
    while sent < BURST.puts:
        some = [templates[(sent + place) % BURST.keys] for place in range(_IN_TRANSACTION)]
        protocol = b'"%d"' % (1 + sent // BURST.keys % 250)
        puts = [Put(key, value.replace(b'"@"', protocol)) for key, value in some]
        world.revision = (await world.store.transaction((), puts)).revision
        sent += len(some)
        await anyio.sleep(max(0.0, begun + BURST_SECONDS * sent / BURST.puts - time.monotonic()))
    took = time.monotonic() - begun
    assert took <= BURST_SECONDS / REACHED, f"{sent} puts took {took:.1f} s, not {BURST_SECONDS:g}"


def _template(world: World, resource: dict[str, Any]) -> tuple[str, bytes]:
    """(etcd key, JSON) of a group with ``@`` for a protocol: making the values must not slow the burst down."""
    resource["security_group_entries"]["policy_rule"][1]["protocol"] = "@"
    return f"/{world.path}/security_group/{resource['uuid']}", msgspec.json.encode(resource)


async def _look_at_the_queue(compiler: Process, deepest: list[int]) -> None:
    while True:
        deepest[0] = max(deepest[0], (await compiler.status())["queue"]["jobs"])
        await anyio.sleep(0.05)
