"""F15: a slow server, and one that asks for a pause: it gets its pause, what is live goes first, and one slow object
delays no other."""

from __future__ import annotations

import time

import pytest

from intentc.loading.configuration.sections import Limits
from intentc.watch.protocol import prefix_end
from tests.faults.faulty_system import FaultySystem
from tests.faults.scale_writing import FULL, SCALE
from tests.faults.server_faults import Fault, Late, Reject, Request, Slow, no_fault
from tests.faults.writing_load import lists_of, lists_of_many, many_groups, offer
from tests.support.contrail_content import tenant
from tests.support.live_system import LiveSystem
from tests.support.waiting import PATIENCE, until, until_true

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

OTHERS = min(SCALE.groups, 300)
"""Groups that are to be done while one object is slow."""
TO_LOOK_OVER = 3_000 if FULL else 700
"""Groups of which nothing is written yet when the compiler starts."""
AT_ONCE = Limits().concurrent_writes
"""Requests that may still arrive in a pause: those that were on their way when it was asked for."""


class Throttling:
    """A server that answers ``status`` to a write, ``times`` times; each time it wants to be left alone for ``pause``
    seconds. ``disobedient``: what came in a pause all the same, those apart that were on their way."""

    def __init__(self, status: int, pause: float, times: int, *, named: bool = True) -> None:
        self.disobedient: list[Request] = []
        self._status = status
        self._pause = pause
        self._names_pause = named
        self._left = times
        self._since = float("-inf")
        self._on_their_way = 0

    @property
    def over(self) -> bool:
        return self._left == 0 and time.monotonic() >= self._since + self._pause

    def __call__(self, request: Request) -> Fault | None:
        paused = request.at < self._since + self._pause - 0.02
        if paused and not self._on_their_way:
            self.disobedient.append(request)
        self._on_their_way -= paused
        if not request.mutates or not (paused or self._left):
            return None
        if not paused:
            self._left -= 1
            self._since = request.at
            self._on_their_way = AT_ONCE
        headers = {"Retry-After": f"{self._pause:g}"} if self._names_pause else {}
        return Reject(self._status, "too busy", headers)


@pytest.mark.parametrize("status", [429, 503])
async def test_the_pause_that_the_server_asks_for_is_kept_by_all_writes(faulty: FaultySystem, status: int) -> None:
    faults = faulty.faults
    throttling = Throttling(status, SCALE.pause, 3)
    async with faulty.compiling() as service:
        await tenant(faulty)
        await faulty.settle(service)
        faults.rule = throttling
        await offer(SCALE.rate, SCALE.seconds, lambda number: faulty.create("security_group", f"one-{number}"))
        await until_true(lambda: is_over(throttling), within=PATIENCE + 5 * SCALE.pause)
        await faulty.settle(service)
        assert throttling.disobedient == []
        assert service.status()["healthy"] is True
    await faulty.check()


async def is_over(throttling: Throttling) -> bool:
    return throttling.over


async def test_a_server_that_is_out_of_service_is_asked_once_a_pause(faulty: FaultySystem) -> None:
    """503 without a word about how long: a second each."""
    faults = faulty.faults
    async with faulty.compiling() as service:
        await tenant(faulty)
        await faulty.settle(service)
        faults.forget()
        out_of_service = Throttling(503, 1.0, round(SCALE.outage), named=False)
        faults.rule = out_of_service
        await many_groups(faulty, SCALE.groups)
        await until_true(lambda: is_over(out_of_service), within=PATIENCE + 5 * SCALE.outage)
        await faulty.settle(service)
        assert out_of_service.disobedient == []
    await faulty.check()


async def test_writes_to_a_slow_server_overlap(faulty: FaultySystem) -> None:
    faults = faulty.faults
    async with faulty.compiling() as service:
        await tenant(faulty)
        await faulty.settle(service)
        faults.forget()
        faults.rule = lambda request: Slow(SCALE.latency)
        await many_groups(faulty, SCALE.groups)
        await faulty.settle(service)
        assert faults.most_at_once >= 8
        faults.rule = no_fault
    await faulty.check()


async def test_one_slow_object_does_not_delay_the_others(faulty: FaultySystem) -> None:
    faults = faulty.faults
    late = Late()

    async with faulty.compiling() as service:
        await tenant(faulty)
        await faulty.settle(service)
        faults.rule = lambda request: late if request.mutates and request.names("slow-one") else None
        await faulty.create("security_group", "slow-one")
        await until(lambda: bool(faults.struck))
        await many_groups(faulty, OTHERS)
        await until_true(lambda: all_listed(faulty))
        late.released.set()
        await faulty.settle(service)
        faults.rule = no_fault
    await faulty.check()


async def all_listed(world: LiveSystem) -> bool:
    return await lists_of_many(world) == 2 * OTHERS


async def test_what_is_live_goes_before_what_a_restart_looks_over(faulty: FaultySystem) -> None:
    """A compiler comes into a world in which everything is still to be written, through a slow server; what a person
    asks for meanwhile does not queue up behind all of that."""
    faults = faulty.faults
    await tenant(faulty)
    await many_groups(faulty, TO_LOOK_OVER)
    faults.rule = lambda request: Slow(SCALE.latency) if request.mutates else None
    async with faulty.compiling() as service:
        await until_true(lambda: some_listed(faulty))
        await faulty.create("security_group", "live")
        await until_true(lambda: is_listed(faulty, "live"))
        faults.rule = no_fault
        await faulty.settle(service)
        assert await before_the_last_of(faulty, "live") < 0.75 * 2 * TO_LOOK_OVER
    await faulty.check()


async def before_the_last_of(world: LiveSystem, name: str) -> int:
    """How many lists of groups that ``many_groups`` made were written before the last list of this group."""
    prefix = f"/{world.path}/access_control_list/"
    written = {item.key.removeprefix(prefix): item.create_revision
               for item in (await world.store.range(prefix, prefix_end(prefix))).items}  # fmt: skip
    last = max(written[uuid] for uuid in await lists_of(world, name))
    many = [uuid for uuid, found in (await world.stored())["access_control_list"].items()
            if found["fq_name"][-2].startswith("many-")]  # fmt: skip
    return sum(written[uuid] < last for uuid in many)


async def some_listed(world: LiveSystem) -> bool:
    return bool((await world.stored()).get("access_control_list"))


async def is_listed(world: LiveSystem, name: str) -> bool:
    return len(await lists_of(world, name)) == 2
