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
def box_system(monkeypatch: pytest.MonkeyPatch) -> BoxSystem:
    poison_boxes(monkeypatch, LIMITS)
    return BoxSystem()


@pytest.mark.parametrize("name", POISONS)
async def test_a_poisoned_intent_is_held_alone_until_it_is_repaired(box_system: BoxSystem, name: str) -> None:
    async with running(box_system) as heartbeat:
        await box_system.boxes("poisoned", "healthy", settle=False)
        await settled(box_system)
        await box_system.change("poisoned", text=name, settle=False)
        await held(box_system, "poisoned")
        await box_system.boxes("new", settle=False)
        await box_system.change("healthy", text="changed", settle=False)
        await settled(box_system)
        assert await box_system.contents() == {"poisoned": "hello", "healthy": "changed", "new": "hello"}
        await held(box_system, "poisoned")
        problems = box_system.offline.problems()
        assert {(problem.name, problem.reason) for problem in problems} == {("poisoned", POISONS[name].reason)}
        await box_system.change("poisoned", text="repaired", settle=False)
        await settled(box_system)
        await held(box_system)
        assert (await box_system.contents())["poisoned"] == "repaired"
    assert heartbeat.cuts <= 1
    assert heartbeat.busy < LIMITS.thread_seconds + _UNEVEN


async def test_a_poisoned_intent_that_never_compiled_delays_no_other(box_system: BoxSystem) -> None:
    await box_system.boxes("poisoned", text="swallows everything", settle=False)
    await box_system.boxes("healthy", settle=False)
    async with running(box_system):
        await settled(box_system)
        await held(box_system, "poisoned")
        assert await box_system.contents() == {"healthy": "hello"}


async def test_what_a_cut_off_run_read_wakes_it(box_system: BoxSystem) -> None:
    """It is evaluated again when that changes, and not only when its back-off is over."""
    async with running(box_system):
        await box_system.boxes("poisoned", text="reads the same for ever", settle=False)
        await settled(box_system)
        await held(box_system, "poisoned")
        key = await box_system.key("box", "poisoned")
        box_system.engine.jobs.forget(key)
        runs = box_system.engine.evaluator.runs
        await box_system.boxes("nobody", settle=False)
        await settled(box_system)
        assert box_system.engine.evaluator.runs >= runs + 2
