"""The engine with its real tasks over a memory store: it converges, drains, ends when it must, and starves no task."""

from __future__ import annotations

import asyncio
import re

import anyio
import pytest

from intentc.engine import engine as engine_module
from intentc.writing import Fenced, Rejected, Unreachable
from tests.support.box_system import POOL, BoxSystem
from tests.support.engine_status import engine_status
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


@pytest.fixture
async def plant() -> BoxSystem:
    """A plant whose engine does not run yet."""
    plant = BoxSystem()
    await plant.offline.server.ensure_pool(POOL, 1, 1000)
    return plant


async def test_it_settles_on_what_was_there_and_on_what_comes(plant: BoxSystem) -> None:
    await plant.boxes("a", settle=False)
    async with plant.running():
        await plant.settled()
        assert await plant.contents() == {"a": "hello"}
        await plant.boxes("b", text="see a", settle=False)
        await plant.settled()
        assert await plant.contents() == {"a": "hello", "b": "hello"}
        assert engine_status(plant.engine)["converged"]


async def test_a_second_engine_over_the_same_store_writes_nothing_and_repairs_what_is_deleted(plant: BoxSystem) -> None:
    names = [f"box-{number:02}" for number in range(25)]
    await plant.boxes(*names, settle=False)
    async with plant.running():
        await plant.settled()
    assert len(await plant.contents()) == 25
    again = BoxSystem(plant.offline.store)
    async with again.running():
        await again.settled()
        assert again.write.log == []
        await again.offline.server.delete(await again.key("part", "box-07", "one"))
        with anyio.fail_after(PATIENCE):
            while len(await again.contents()) < 25:
                await anyio.lowlevel.checkpoint()
        assert again.write.log == ["create box-07"]


async def test_writes_under_way_are_drained_when_it_is_cancelled(plant: BoxSystem) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()
    create = plant.write.create

    async def slow(operation, fence=None, /):  # type: ignore[no-untyped-def]
        begun.set()
        await go_on.wait()
        return await create(operation, fence)

    plant.write.create = slow  # type: ignore[method-assign]
    await plant.boxes("a", settle=False)
    async with plant.running() as task:
        with anyio.fail_after(PATIENCE):
            await begun.wait()
        task.cancel()
        await anyio.lowlevel.checkpoint()
        assert not task.done()
        go_on.set()
        await asyncio.wait([task])
    assert await plant.contents() == {"a": "hello"}
    assert plant.engine._reconciler.in_flight == 0


async def test_another_leader_ends_it(plant: BoxSystem) -> None:
    plant.write.failures["*"] = [Fenced(412, "fence is over")]
    await plant.boxes("a", settle=False)
    async with plant.running() as task:
        with anyio.fail_after(PATIENCE):
            await asyncio.wait([task])
        error = task.exception()
    assert isinstance(error, BaseExceptionGroup) and error.subgroup(Fenced) is not None
    assert await plant.contents() == {}


async def test_a_long_queue_of_evaluations_does_not_starve_writing(
    plant: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plant.boxes("first", settle=False)
    async with plant.running():
        await plant.settled()
        monkeypatch.setattr(engine_module, "_BURST", 10)
        left: list[int] = []
        create = plant.write.create

        async def noting(operation, fence=None, /):  # type: ignore[no-untyped-def]
            left.append(plant.engine.progress.jobs)
            return await create(operation, fence)

        plant.write.create = noting  # type: ignore[method-assign]
        monkeypatch.setattr("intentc.engine.slices._LENGTH", 0.0)
        await plant.boxes(*(f"box-{number:03}" for number in range(200)), settle=False)
        await plant.settled()
    assert len(left) == 200
    assert max(left) > 0


async def test_an_outage_is_waited_out_and_everything_is_written_then(plant: BoxSystem) -> None:
    """F15"""
    plant.write.failures["*"] = [Unreachable("refused")]
    await plant.boxes("a", "b", "c", settle=False)
    async with plant.running():
        await plant.settled()
        assert await plant.contents() == {"a": "hello", "b": "hello", "c": "hello"}
        assert plant.engine.reachable


async def test_a_new_outage_after_a_success_begins_with_a_short_pause(
    plant: BoxSystem, caplog: pytest.LogCaptureFixture
) -> None:
    async with plant.running():
        for name in ("a", "b"):
            plant.write.failures["*"] = [Unreachable("refused")]
            await plant.boxes(name, settle=False)
            await plant.settled()
    assert len(re.findall(r"next try in 0\.[12] s", caplog.text)) == 2


async def test_an_owner_whose_number_is_refused_is_granted_it_later_and_holds_up_nobody(plant: BoxSystem) -> None:
    plant.write.failures["*"] = [Rejected(403, "no")]
    await plant.boxes("a", "b", text="number", settle=False)
    async with plant.running():
        with anyio.fail_after(PATIENCE):
            while plant.write.log[-1:] != ["create ticket-2"]:
                await anyio.lowlevel.checkpoint()
        await plant.settled()
    granted = await plant.offline.local.allocations(POOL, "default/")
    assert sorted(granted.values()) == [1, 2]
    assert [entry.partition(" ")[0] for entry in plant.write.log].count("allocate") == 3
