"""One intent runs wild, in every way that we know of: it alone is held, its outputs stay, everybody else goes on."""

from __future__ import annotations

import pytest

from intentc.evaluation import Limits
from tests.scenario.poisoned import held, poison_boxes, running, settled
from tests.support.box_system import BoxSystem
from tests.unit.evaluation.poisons import POISONS

pytestmark = pytest.mark.anyio

LIMITS = Limits(thread_seconds=0.05, wall_seconds=0.15, reads=1_000)
_UNEVEN = 4.5
"""Seconds of CPU by which recursion at its very limit evades the timer; all else needs a fiftieth of that."""


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param}


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> BoxSystem:
    poison_boxes(monkeypatch, LIMITS)
    return BoxSystem()


@pytest.mark.parametrize("name", POISONS)
async def test_a_poisoned_intent_is_held_alone_until_it_is_repaired(plant: BoxSystem, name: str) -> None:
    async with running(plant) as heartbeat:
        await plant.boxes("poisoned", "healthy", settle=False)
        await settled(plant)
        await plant.change("poisoned", text=name, settle=False)
        await held(plant, "poisoned")
        await plant.boxes("new", settle=False)
        await plant.change("healthy", text="changed", settle=False)
        await settled(plant)
        assert await plant.contents() == {"poisoned": "hello", "healthy": "changed", "new": "hello"}
        await held(plant, "poisoned")
        problems = plant.offline.problems()
        assert {(problem.name, problem.reason) for problem in problems} == {("poisoned", POISONS[name].reason)}
        await plant.change("poisoned", text="repaired", settle=False)
        await settled(plant)
        await held(plant)
        assert (await plant.contents())["poisoned"] == "repaired"
    assert heartbeat.cuts <= 1
    assert heartbeat.busy < LIMITS.thread_seconds + _UNEVEN


async def test_a_poisoned_intent_that_never_compiled_holds_up_nobody(plant: BoxSystem) -> None:
    await plant.boxes("poisoned", text="swallows everything", settle=False)
    await plant.boxes("healthy", settle=False)
    async with running(plant):
        await settled(plant)
        await held(plant, "poisoned")
        assert await plant.contents() == {"healthy": "hello"}


async def test_what_a_cut_off_run_read_wakes_it(plant: BoxSystem) -> None:
    """It is evaluated again when that changes, and not only when its back-off is over."""
    async with running(plant):
        await plant.boxes("poisoned", text="reads the same for ever", settle=False)
        await settled(plant)
        await held(plant, "poisoned")
        key = await plant.key("box", "poisoned")
        plant.engine._scheduler.forget(key)
        runs = plant.engine.progress.evaluations
        await plant.boxes("nobody", settle=False)
        await settled(plant)
        assert plant.engine.progress.evaluations >= runs + 2
