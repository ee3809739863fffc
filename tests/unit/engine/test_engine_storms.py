"""Storms: many events on one expensive intent cost few evaluations of it, and writes that become possible together go
together (docs/engine.md §11.1)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import anyio
import pytest

from intentc.evaluation import Outcome
from intentc.model import Create, Key
from intentc.writing import Written
from tests.support.box_system import POOL, BoxSystem
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

EVENTS = 100


@pytest.fixture
async def plant() -> BoxSystem:
    plant = BoxSystem()
    await plant.offline.server.ensure_pool(POOL, 1, 1000)
    return plant


def taking(plant: BoxSystem, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each evaluation take so long."""
    run: Callable[[Key], Outcome] = plant.engine._evaluator._runner.run

    def slow(key: Key) -> Outcome:
        time.sleep(seconds)
        return run(key)

    monkeypatch.setattr(plant.engine._evaluator._runner, "run", slow)


async def storm(plant: BoxSystem) -> int:
    """Change one box in a hundred revisions, each seen by itself; how often it was evaluated."""
    key, runs = await plant.key("box", "hub"), plant.engine.progress.evaluations
    for number in range(EVENTS):
        revision = (await plant.offline.server.update(key, {"text": f"text {number}"})).revision
        with anyio.fail_after(PATIENCE):
            while plant.engine.revision < revision:
                await anyio.lowlevel.checkpoint()
    await plant.settled()
    return plant.engine.progress.evaluations - runs


async def test_a_expensive_intent_is_not_evaluated_for_each_event(
    plant: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plant.boxes("hub", settle=False)
    taking(plant, 0.005, monkeypatch)
    async with plant.running():
        await plant.settled()
        assert 1 <= await storm(plant) <= EVENTS / 4
        assert await plant.contents() == {"hub": f"text {EVENTS - 1}"}, "the last event counts"


async def test_while_a_expensive_intent_rests_the_engine_is_not_quiet_and_others_are_served(
    plant: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plant.boxes("hub", settle=False)
    async with plant.running():
        await plant.settled()
        taking(plant, 0.05, monkeypatch)
        key = await plant.key("box", "hub")
        for text in ("one", "two"):
            await plant.offline.server.update(key, {"text": text})
            with anyio.fail_after(PATIENCE):
                while key not in plant.engine._evaluator.cooling_down and text == "two":
                    await anyio.lowlevel.checkpoint()
                while (await plant.contents())["hub"] != "one":
                    await anyio.lowlevel.checkpoint()
        assert not plant.engine.quiet
        await plant.boxes("other", settle=False)
        with anyio.fail_after(PATIENCE):
            while "other" not in await plant.contents():
                await anyio.lowlevel.checkpoint()
        assert (await plant.contents())["hub"] == "one", "it still rests"
        await plant.settled()
        assert (await plant.contents())["hub"] == "two"


async def test_places_for_writes_that_become_free_together_are_taken_together(
    plant: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way: list[asyncio.Event] = []
    at_once: list[int] = []
    create = plant.write.create

    async def gated(operation: Create, fence: str | None = None, /) -> Written:
        gate = asyncio.Event()
        under_way.append(gate)
        await gate.wait()
        return await create(operation, fence)

    monkeypatch.setattr(plant.write, "create", gated)
    monkeypatch.setattr(plant.engine._reconciler, "_most", 5)
    await plant.boxes(*(f"box-{number:02}" for number in range(15)), settle=False)
    async with plant.running():
        for _ in range(3):
            with anyio.fail_after(PATIENCE):
                while not under_way:
                    await anyio.lowlevel.checkpoint()
            await anyio.wait_all_tasks_blocked()
            at_once.append(len(under_way))
            for gate in under_way:
                gate.set()
            under_way.clear()
        await plant.settled()
    assert at_once == [5, 5, 5]


async def test_the_first_pass_waits_for_a_expensive_intent_that_rests(plant: BoxSystem) -> None:
    """What it yielded before its rest may lack what others have contributed since: objects would be written half made,
    and orphans found that are none."""
    await plant.boxes("one", settle=False)
    cooling_down = plant.engine._evaluator.cooling_down
    cooling_down.add(Key("box", "expensive"))
    async with plant.running():
        with anyio.fail_after(PATIENCE):
            while not plant.engine.progress.evaluations:
                await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        assert not plant.engine.first_pass_complete
        assert await plant.contents() == {}
        cooling_down.clear()
        plant.engine.advance()
        await plant.settled()
        assert (await plant.contents()).keys() == {"one"}
