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
async def box_system() -> BoxSystem:
    box_system = BoxSystem()
    await box_system.offline.server.ensure_pool(POOL, 1, 1000)
    return box_system


def taking(box_system: BoxSystem, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each evaluation take so long."""
    run: Callable[[Key], Outcome] = box_system.engine.evaluator._runner.run

    def slow(key: Key) -> Outcome:
        time.sleep(seconds)
        return run(key)

    monkeypatch.setattr(box_system.engine.evaluator._runner, "run", slow)


async def storm(box_system: BoxSystem) -> int:
    """Change one box in a hundred revisions, each seen by itself; how often it was evaluated."""
    key, runs = await box_system.key("box", "hub"), box_system.engine.evaluator.runs
    for number in range(EVENTS):
        revision = (await box_system.offline.server.update(key, {"text": f"text {number}"})).revision
        with anyio.fail_after(PATIENCE):
            while box_system.engine.revision < revision:
                await anyio.lowlevel.checkpoint()
    await box_system.settled()
    return box_system.engine.evaluator.runs - runs


async def test_a_expensive_intent_is_not_evaluated_for_each_event(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await box_system.boxes("hub", settle=False)
    taking(box_system, 0.005, monkeypatch)
    async with box_system.running():
        await box_system.settled()
        assert 1 <= await storm(box_system) <= EVENTS / 4
        assert await box_system.contents() == {"hub": f"text {EVENTS - 1}"}, "the last event counts"


async def test_during_a_cooldown_the_engine_is_not_quiet_and_serves_others(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await box_system.boxes("hub", settle=False)
    async with box_system.running():
        await box_system.settled()
        taking(box_system, 0.05, monkeypatch)
        key = await box_system.key("box", "hub")
        for text in ("one", "two"):
            await box_system.offline.server.update(key, {"text": text})
            with anyio.fail_after(PATIENCE):
                while key not in box_system.engine.evaluator.cooling_down and text == "two":
                    await anyio.lowlevel.checkpoint()
                while (await box_system.contents())["hub"] != "one":
                    await anyio.lowlevel.checkpoint()
        assert not box_system.engine.quiet
        await box_system.boxes("other", settle=False)
        with anyio.fail_after(PATIENCE):
            while "other" not in await box_system.contents():
                await anyio.lowlevel.checkpoint()
        assert (await box_system.contents())["hub"] == "one", "it still rests"
        await box_system.settled()
        assert (await box_system.contents())["hub"] == "two"


async def test_places_for_writes_that_become_free_together_are_taken_together(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way: list[asyncio.Event] = []
    at_once: list[int] = []
    create = box_system.write.create

    async def gated(operation: Create, fence: str | None = None, /) -> Written:
        gate = asyncio.Event()
        under_way.append(gate)
        await gate.wait()
        return await create(operation, fence)

    monkeypatch.setattr(box_system.write, "create", gated)
    monkeypatch.setattr(box_system.engine.writes.loop, "_workers", 5)
    await box_system.boxes(*(f"box-{number:02}" for number in range(15)), settle=False)
    async with box_system.running():
        for _ in range(3):
            with anyio.fail_after(PATIENCE):
                while not under_way:
                    await anyio.lowlevel.checkpoint()
            await anyio.wait_all_tasks_blocked()
            at_once.append(len(under_way))
            for gate in under_way:
                gate.set()
            under_way.clear()
        await box_system.settled()
    assert at_once == [5, 5, 5]


async def test_the_first_pass_waits_for_an_intent_in_its_cooldown(box_system: BoxSystem) -> None:
    """What it yielded before its rest may lack what others have contributed since: objects would be written half made,
    and orphans found that are none."""
    await box_system.boxes("one", settle=False)
    cooling_down = box_system.engine.evaluator.cooling_down
    cooling_down.add(Key("box", "expensive"))
    async with box_system.running():
        with anyio.fail_after(PATIENCE):
            while not box_system.engine.evaluator.runs:
                await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        assert not box_system.engine.first_pass_complete
        assert await box_system.contents() == {}
        cooling_down.clear()
        box_system.engine.work_ended()
        await box_system.settled()
        assert (await box_system.contents()).keys() == {"one"}
