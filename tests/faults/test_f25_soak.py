"""F25, soak: a random mix of everything, for a long time, and nothing grows.

One compiler lasts through all of it and is measured; another is killed and started again beside it; wires are cut,
slowed down and silenced, the API server is killed. Between two rounds all is quiet, so that memory is compared with
memory. How long, stands in ``scale``; ``INTENTC_SOAK_SECONDS`` gives another length.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Awaitable, Callable

import anyio
import pytest

from intentc.dev.etcd_server import Etcd
from tests.faults.fault_proxy import Way
from tests.faults.load import Tenants, offer
from tests.faults.oracles import check, flat
from tests.faults.process_system import ProcessSystem
from tests.faults.scale import SOAK, SOAK_LEFT, SOAK_ROUND_SECONDS, SOAK_SECONDS, Scale, in_full
from tests.faults.scale_writing import seeded
from tests.support.processes import Process

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

MOST_GROWTH = float(2 << 20)
"""Bytes a minute, of which the C library keeps about one in freed pieces (``docs/guarantees.md``, "Not promised")."""
DRAINED_WITHIN = 10.0
ENOUGH_SAMPLES = 20
"""Below that, a slope says nothing about memory."""


class Soak:
    """``lasting``: the compiler that lives through it all."""

    def __init__(self, bench: ProcessSystem, endpoint: str, chance: random.Random) -> None:
        self.bench = bench
        self.chance = chance
        self.lasting: Process = bench.start()
        self.other: Process = bench.start()
        self._endpoint = endpoint
        self.faults: dict[str, Callable[[], Awaitable[None]]] = {
            "connections to etcd are reset": self._etcd_reset,
            "connections to the API server are reset": self._api_reset,
            "the wire to etcd is slow": self._etcd_slow,
            "the wire to the API server is slow": self._api_slow,
            "etcd falls silent": self._etcd_silent,
            "answers of the API server are lost": self._answers_lost,
            "the API server is killed": self._api_killed,
            "the other compiler is killed": self._other_killed,
            "the lasting compiler is stopped": self._stopped,
        }

    async def quiet(self) -> None:
        """One of the two leads, and both have nothing left to do."""
        for compiler in (self.lasting, self.other):
            await compiler.quiet(self.bench.world.revision, SOAK.patience, standby=True)

    async def round(self, tenants: Tenants) -> str:
        """Load, and one fault in the midst of it; which."""
        name = self.chance.choice(sorted(self.faults))
        async with anyio.create_task_group() as group:
            group.start_soon(offer, tenants, Scale(rate=SOAK.rate, seconds=SOAK_ROUND_SECONDS))
            await anyio.sleep(SOAK_ROUND_SECONDS * self.chance.uniform(0.1, 0.5))
            await self.faults[name]()
        await self.bench.heal()
        return name

    async def _for_a_while(self) -> None:
        await anyio.sleep(SOAK_ROUND_SECONDS * self.chance.uniform(0.1, 0.4))

    async def _etcd_reset(self) -> None:
        self.bench.to_etcd.reset()

    async def _api_reset(self) -> None:
        self.bench.to_api.reset()

    async def _etcd_slow(self) -> None:
        self.bench.to_etcd.delay_seconds = 0.05
        await self._for_a_while()

    async def _api_slow(self) -> None:
        self.bench.to_api.delay_seconds = 0.05
        await self._for_a_while()

    async def _etcd_silent(self) -> None:
        self.bench.to_etcd.blackhole(Way.TO_CLIENT)
        await self._for_a_while()

    async def _answers_lost(self) -> None:
        self.bench.to_api.blackhole(Way.TO_CLIENT)
        await self._for_a_while()
        self.bench.to_api.reset()

    async def _api_killed(self) -> None:
        # The person is at the same server: the load waits for it, as it would for any other.
        await self.bench.to_api.reject()
        await self._for_a_while()

    async def _other_killed(self) -> None:
        self.other.kill()
        await self._for_a_while()
        self.other = self.bench.start()

    async def _stopped(self) -> None:
        self.lasting.suspend()
        await self._for_a_while()
        self.lasting.resume()


async def test_f25_a_long_mixed_load_ends_correct_and_without_growth(
    own_bench: ProcessSystem, fresh_etcd: Etcd
) -> None:
    bench, world = own_bench, own_bench.world
    bench.settings["intentc"]["limits"]["max_deletes"] = 10 * SOAK.groups
    # Full within a minute: until then the journal's memory is what it was given, and no growth.
    bench.settings["intentc"]["journal"] = {"entries": 1_000}
    chance = seeded()
    tenants = Tenants(world, chance)
    await tenants.populate(SOAK.groups, SOAK.networks)
    soak = Soak(bench, fresh_etcd.endpoint, chance)
    # Values are decoded when they are first read, and kept: until each was, memory follows what has been touched.
    await tenants.sync([tenants.rewritten(name) for name in sorted(tenants.groups)])
    await soak.quiet()
    first = soak.lasting.usage()

    begun, samples, happened = time.monotonic(), [], []
    while time.monotonic() - begun < SOAK_SECONDS:
        happened.append(await soak.round(tenants))
        await soak.quiet()
        samples.append((time.monotonic() - begun, soak.lasting.usage().memory))
    await world.assert_compiled()
    faults = ", ".join(f"{happened.count(name)} × {name}" for name in sorted(set(happened)))
    print(f"{len(happened)} rounds in {time.monotonic() - begun:.0f} s: {faults}")
    print(f"memory: {first.memory >> 20} MiB at first, {samples[-1][1] >> 20} MiB at the end; slope {_slope(samples)}")
    if len(samples) >= ENOUGH_SAMPLES:
        half = samples[len(samples) // 2 :]
        slope = statistics.linear_regression(*zip(*half, strict=True)).slope * 60
        assert slope < MOST_GROWTH, f"{slope / (1 << 20):.2f} MiB a minute"

    await _memory_returns(soak, tenants)
    soak.other.kill()
    survivor = await check(bench, soak.lasting, SOAK.patience)
    ended = time.monotonic()
    assert await survivor.terminate() == 0
    assert in_full(time.monotonic() - ended < DRAINED_WITHIN)


async def _memory_returns(soak: Soak, tenants: Tenants) -> None:
    """Shrunk to a hundredth and grown again, it holds no more than before (EG #4498)."""
    grown = soak.lasting.usage()
    doomed = sorted(tenants.groups)[SOAK_LEFT:]
    await tenants.sync(tenants.removed(doomed))
    await soak.quiet()
    await tenants.sync(tenants.more(len(doomed)))
    await soak.quiet()
    flat(grown, soak.lasting.usage())


def _slope(samples: list[tuple[float, int]]) -> str:
    if len(samples) < ENOUGH_SAMPLES:
        return f"not given for {len(samples)} samples"
    half = samples[len(samples) // 2 :]
    return f"{statistics.linear_regression(*zip(*half, strict=True)).slope * 60 / (1 << 20):+.2f} MiB a minute"
