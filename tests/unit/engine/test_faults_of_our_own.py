"""A fault of our own defers the object on whose way it happened; the service goes on (docs/engine.md §6.3)."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from intentc.engine.permission import OBSERVING
from intentc.model import Name
from intentc.planning import Plan
from intentc.reconcile.failures import Conflict
from tests.support.box_system import BoxSystem, part
from tests.support.engine_status import engine_status
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

Break = Callable[[BoxSystem, Exception], None]


def in_the_plan(box_system: BoxSystem, error: Exception) -> None:
    """Planning the part of box a raises ``error``, once."""
    planner, errors = box_system.engine.planner, [error]
    plan = planner.plan

    def broken(name: Name) -> Plan:
        if name == part("a") and errors:
            raise errors.pop()
        return plan(name)

    planner.plan = broken  # type: ignore[method-assign]


def before_the_write(box_system: BoxSystem, error: Exception) -> None:
    box_system.write.failures["a"] = [error]


def after_the_write(box_system: BoxSystem, error: Exception) -> None:
    """Noting the made write of the part of box a raises ``error``, once."""
    repairs, errors = box_system.engine.writes._repairs, [error]
    note_written = repairs.note_written

    def broken(plan: Plan) -> None:
        if plan.name == part("a") and errors:
            raise errors.pop()
        note_written(plan)

    repairs.note_written = broken  # type: ignore[method-assign]


def problems(box_system: BoxSystem) -> list[tuple[str, str]]:
    return [(problem.name, problem.reason) for problem in box_system.offline.problems()]


@pytest.mark.parametrize("at", [in_the_plan, before_the_write])
async def test_the_object_is_reported_and_tried_again_and_the_others_go_on(
    box_system: BoxSystem, caplog: pytest.LogCaptureFixture, at: Break
) -> None:
    at(box_system, ZeroDivisionError("a fault"))
    with caplog.at_level(logging.ERROR):
        await box_system.boxes("a", "b")
    assert "ZeroDivisionError: a fault" in caplog.text
    assert "b" in await box_system.contents()
    assert part("a") in box_system.engine.objects.delayed()
    assert problems(box_system) == [("a:one", "InternalError")]
    assert not engine_status(box_system.engine)["healthy"]

    await box_system.retry("a")
    assert set(await box_system.contents()) == {"a", "b"}
    assert box_system.write.log.count("create b") == 1
    assert engine_status(box_system.engine)["healthy"]


@pytest.mark.parametrize("at", [in_the_plan, before_the_write, after_the_write])
async def test_a_running_service_goes_on(caplog: pytest.LogCaptureFixture, at: Break) -> None:
    box_system = await BoxSystem().begin()
    at(box_system, ZeroDivisionError("a fault"))
    async with box_system.running() as task:
        await box_system.boxes("a", "b", settle=False)
        # Until the back-off is over: only then has it converged.
        await until(lambda: task.done() or box_system.engine.sender.written == 2)
        await box_system.settled()
        assert not task.done()
    assert "part a:one: a fault of intentc itself" in caplog.text
    assert set(await box_system.contents()) == {"a", "b"}
    assert problems(box_system) == []


async def test_a_fault_ends_once_planning_works_though_writes_are_withheld(box_system: BoxSystem) -> None:
    in_the_plan(box_system, ZeroDivisionError("a fault"))
    box_system.engine.withhold(OBSERVING, "for a while")
    await box_system.boxes("a")
    assert problems(box_system) == [("a:one", "InternalError")]
    await box_system.retry("a")
    assert problems(box_system) == []
    assert part("a") in box_system.engine.states.planned


async def test_a_write_that_failed_otherwise_meanwhile_stays_reported_as_such(box_system: BoxSystem) -> None:
    """A plan that works again says nothing of the last write."""
    before_the_write(box_system, TimeoutError())
    await box_system.boxes("a")
    assert problems(box_system) == [("a:one", "InternalError")]
    box_system.write.failures["a"] = [Conflict(409, "stale")] * 3
    await box_system.retry("a")
    assert problems(box_system) == [("a:one", "Delayed")]
    box_system.engine.withhold(OBSERVING, "for a while")
    await box_system.retry("a")
    assert problems(box_system) == [("a:one", "Delayed")]
