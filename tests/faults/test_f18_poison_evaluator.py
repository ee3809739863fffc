"""F18: evaluators that raise, loop, sleep, recurse, answer nonsense or a hundred thousand objects, all at once: each is
cut off by its budget and held alone, everybody else converges, and the event loop goes on."""

from __future__ import annotations

import pytest

from intentc.evaluation import Limits
from tests.scenario.poisoned import held, poison_boxes, running, settled
from tests.support.box_system import BoxSystem
from tests.unit.evaluation.poisons import POISONS

pytestmark = pytest.mark.anyio

HEALTHY = 200
LIMITS = Limits(thread_seconds=0.1, wall_seconds=0.5)
_UNEVEN = 4.5
"""Seconds of CPU by which recursion at its very limit evades the timer; all else needs a fiftieth of that."""
NAMED = {
    "raises": "EvaluationFailed",
    "returns a wrong type": "InvalidOutput",
    "sleeps for an hour": "BudgetExceeded",
    "recurses": "EvaluationFailed",
    "returns 100 000 objects": "LimitExceeded",
    "loops": "BudgetExceeded",
    "swallows everything": "BudgetExceeded",
    "backtracks": "BudgetExceeded",
    "yields for ever": "LimitExceeded",
}


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param}


async def test_poison_evaluators_are_held_alone_and_the_loop_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert NAMED.keys() <= POISONS.keys()
    poison_boxes(monkeypatch, LIMITS)
    box_system = BoxSystem()
    healthy = [f"healthy-{number}" for number in range(HEALTHY)]
    async with running(box_system) as heartbeat:
        await box_system.boxes(*healthy, *NAMED, settle=False)
        await settled(box_system)
        for name in NAMED:
            await box_system.change(name, text=name, settle=False)
        await held(box_system, *NAMED)
        for name in healthy:
            await box_system.change(name, text="changed", settle=False)
        await settled(box_system)
        assert await box_system.contents() == dict.fromkeys(healthy, "changed") | dict.fromkeys(NAMED, "hello")
        assert {problem.name: problem.reason for problem in box_system.offline.problems()} == NAMED
        written = len(box_system.write.log)
        for key, _ in box_system.engine.states.held.items():
            box_system.engine.reevaluate([key])
        await settled(box_system)
        assert len(box_system.write.log) == written
    assert heartbeat.cuts == 1, "the loop is held by one evaluation at a time"
    assert heartbeat.busy < LIMITS.thread_seconds + _UNEVEN
