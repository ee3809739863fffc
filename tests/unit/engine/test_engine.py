"""The engine with its real tasks over a memory store: it converges, drains, ends when it must, and starves no task."""

from __future__ import annotations

import asyncio
import re

import anyio
import pytest

from intentc.engine.permission import ENDING
from intentc.reconcile.failures import Fenced, Rejected, Unavailable
from tests.support.box_system import POOL, BoxSystem, Gate
from tests.support.engine_status import engine_status
from tests.support.waiting import PATIENCE, until

pytestmark = pytest.mark.anyio


@pytest.fixture
async def box_system() -> BoxSystem:
    """A box system whose engine does not run yet."""
    box_system = BoxSystem()
    await box_system.offline.server.ensure_pool(POOL, 1, 1000)
    return box_system


async def test_it_settles_on_what_was_there_and_on_what_comes(box_system: BoxSystem) -> None:
    await box_system.boxes("a", settle=False)
    async with box_system.running():
        await box_system.settled()
        assert await box_system.contents() == {"a": "hello"}
        await box_system.boxes("b", text="see a", settle=False)
        await box_system.settled()
        assert await box_system.contents() == {"a": "hello", "b": "hello"}
        assert engine_status(box_system.engine)["converged"]


async def test_a_second_engine_over_the_same_store_writes_nothing_and_repairs_what_is_deleted(
    box_system: BoxSystem,
) -> None:
    names = [f"box-{number:02}" for number in range(25)]
    await box_system.boxes(*names, settle=False)
    async with box_system.running():
        await box_system.settled()
    assert len(await box_system.contents()) == 25
    again = BoxSystem(box_system.offline.store)
    async with again.running():
        await again.settled()
        assert again.write.log == []
        await again.offline.server.delete(await again.key("part", "box-07", "one"))
        with anyio.fail_after(PATIENCE):
            while len(await again.contents()) < 25:
                await anyio.lowlevel.checkpoint()
        assert again.write.log == ["create box-07"]


async def test_writes_under_way_are_drained_when_it_is_cancelled(box_system: BoxSystem) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    create = box_system.write.create

    async def slow(operation, fence=None, /):  # type: ignore[no-untyped-def]
        begun.set()
        await go_on.wait()
        return await create(operation, fence)

    box_system.write.create = slow  # type: ignore[method-assign]
    await box_system.boxes("a", settle=False)
    async with box_system.running() as task:
        with anyio.fail_after(PATIENCE):
            await begun.wait()
        task.cancel()
        await anyio.lowlevel.checkpoint()
        assert not task.done()
        go_on.set()
        await asyncio.wait([task])
    assert await box_system.contents() == {"a": "hello"}
    assert box_system.engine.writes.loop.in_flight == 0


async def test_an_engine_cancelled_during_a_write_converges_when_stepped(box_system: BoxSystem) -> None:
    gate = box_system.write.gates["create a"] = Gate()
    await box_system.boxes("a", settle=False)
    async with box_system.running() as task:
        await until(gate.entered.is_set)
        task.cancel()
        gate.opened.set()
        await asyncio.wait([task])
    box_system.engine.lift(ENDING)
    await box_system.settle()
    assert box_system.engine.converged
    assert await box_system.contents() == {"a": "hello"}


async def test_another_leader_ends_it(box_system: BoxSystem) -> None:
    box_system.write.failures["*"] = [Fenced(412, "fence is over")]
    await box_system.boxes("a", settle=False)
    async with box_system.running() as task:
        with anyio.fail_after(PATIENCE):
            await asyncio.wait([task])
        error = task.exception()
    assert isinstance(error, BaseExceptionGroup) and error.subgroup(Fenced) is not None
    assert await box_system.contents() == {}


async def test_a_long_queue_of_evaluations_does_not_starve_writing(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await box_system.boxes("first", settle=False)
    async with box_system.running():
        await box_system.settled()
        monkeypatch.setattr("intentc.engine.phases._MAX_BURST", 10)
        left: list[int] = []
        create = box_system.write.create

        async def noting(operation, fence=None, /):  # type: ignore[no-untyped-def]
            left.append(box_system.engine.jobs.pending())
            return await create(operation, fence)

        box_system.write.create = noting  # type: ignore[method-assign]
        monkeypatch.setattr("intentc.reconcile.loop._SLICE", 0.0)
        await box_system.boxes(*(f"box-{number:03}" for number in range(200)), settle=False)
        await box_system.settled()
    assert len(left) == 200
    assert max(left) > 0


async def test_an_outage_is_waited_out_and_everything_is_written_then(box_system: BoxSystem) -> None:
    """F15"""
    box_system.write.failures["*"] = [Unavailable("connection refused")]
    await box_system.boxes("a", "b", "c", settle=False)
    async with box_system.running():
        await box_system.settled()
        assert await box_system.contents() == {"a": "hello", "b": "hello", "c": "hello"}
        assert box_system.engine.throttle.reachable


async def test_a_new_outage_after_a_success_begins_with_a_short_pause(
    box_system: BoxSystem, caplog: pytest.LogCaptureFixture
) -> None:
    async with box_system.running():
        for name in ("a", "b"):
            box_system.write.failures["*"] = [Unavailable("connection refused")]
            await box_system.boxes(name, settle=False)
            await box_system.settled()
    assert len(re.findall(r"next try in 0\.[12] s", caplog.text)) == 2


async def test_an_owner_with_a_rejected_request_gets_its_number_later_and_delays_nobody(box_system: BoxSystem) -> None:
    box_system.write.failures["*"] = [Rejected(403, "no")]
    await box_system.boxes("a", "b", text="number", settle=False)
    async with box_system.running():
        with anyio.fail_after(PATIENCE):
            while box_system.write.log[-1:] != ["create ticket-2"]:
                await anyio.lowlevel.checkpoint()
        await box_system.settled()
    granted = await box_system.offline.local.allocations(POOL, "default/")
    assert sorted(granted.values()) == [1, 2]
    assert [entry.partition(" ")[0] for entry in box_system.write.log].count("allocate") == 3
