"""Objects are planned once everything known is evaluated, whatever made that possible, and in numbers that leave
other tasks their turn (docs/engine.md §1.7, §6.4)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
import pytest

from intentc.engine.permission import OBSERVING
from intentc.engine.phases import Phase
from intentc.model import Name
from intentc.planning import Plan
from intentc.reconcile import Loop
from intentc.reconcile.failures import Unavailable
from tests.support.box_system import BoxSystem, Gate, part
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

A_UUID = "11111111-1111-4111-8111-111111111111"


@contextmanager
def planned(box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Name]]:
    """The objects that were planned, in order."""
    names: list[Name] = []
    plan = box_system.engine.planner.plan

    def noting(name: Name) -> Plan:
        names.append(name)
        return plan(name)

    with monkeypatch.context() as patch:
        patch.setattr(box_system.engine.planner, "plan", noting)
        yield names


@asynccontextmanager
async def writer(box_system: BoxSystem, in_flight: int) -> AsyncIterator[Loop[Name]]:
    """The loop that writes the system's objects, without the rest of the engine. Plans may begin."""
    loop = box_system.engine.writes.loop
    loop._workers = in_flight
    may_plan(box_system, yes=True)
    task = asyncio.create_task(loop.run())
    try:
        yield loop
    finally:
        task.cancel()
        await asyncio.wait([task])


def may_plan(box_system: BoxSystem, *, yes: bool) -> None:
    box_system.engine._phases.enter(Phase.PLANNING if yes else Phase.LISTING)
    box_system.engine.writes.loop.wake()


async def two_parts_to_make(box_system: BoxSystem) -> None:
    """The parts of ``a`` and ``b`` are claimed, and not there."""
    box_system.engine.withhold(OBSERVING, "for a while")
    await box_system.boxes("a", "b")
    box_system.engine.lift(OBSERVING)
    for name in box_system.engine.objects.take_all():
        box_system.engine.objects.done(name)


async def test_nothing_that_waited_for_room_is_planned_while_plans_may_not_begin(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await two_parts_to_make(box_system)
    throttle = box_system.write.gates["create a"] = Gate()
    with planned(box_system, monkeypatch) as names:
        async with writer(box_system, in_flight=1) as loop:
            box_system.engine.objects.plan([part("a")])
            box_system.engine.objects.plan([part("b")])
            await until(throttle.entered.is_set)
            await anyio.wait_all_tasks_blocked()
            assert names == [part("a")], "there is no room for the other"
            may_plan(box_system, yes=False)
            throttle.opened.set()
            await until(lambda: loop.in_flight == 0)
            await anyio.wait_all_tasks_blocked()
            assert names == [part("a")]
            may_plan(box_system, yes=True)
            await until(lambda: box_system.write.log == ["create a", "create b"])


async def test_nothing_is_planned_when_an_outage_ends_while_plans_may_not_begin(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await two_parts_to_make(box_system)
    box_system.write.failures["a"] = [Unavailable("connection refused")]
    async with writer(box_system, in_flight=10):
        box_system.engine.objects.plan([part("a")])
        await until(lambda: not box_system.engine.throttle.reachable)
        with planned(box_system, monkeypatch) as names:
            box_system.engine.objects.plan([part("b")])
            await anyio.wait_all_tasks_blocked()
            may_plan(box_system, yes=False)
            await until(lambda: not box_system.engine.throttle.seconds)
            await anyio.wait_all_tasks_blocked()
            assert names == []
            may_plan(box_system, yes=True)
            await until(lambda: set(names) == {part("a"), part("b")})


async def test_nothing_is_planned_before_plans_may_begin(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await two_parts_to_make(box_system)
    with planned(box_system, monkeypatch) as names:
        async with writer(box_system, in_flight=10):
            may_plan(box_system, yes=False)
            box_system.engine.objects.plan([part("a")])
            await anyio.wait_all_tasks_blocked()
            assert names == []
            may_plan(box_system, yes=True)
            may_plan(box_system, yes=False)
            await anyio.wait_all_tasks_blocked()
            assert names == [], "plans could begin only for a moment in which no task had a turn"
            may_plan(box_system, yes=True)
            await until(lambda: names == [part("a")])


async def test_many_plans_with_nothing_to_do_leave_the_others_their_turn(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart in a converged world plans everything and never waits for a write."""
    await box_system.boxes(*(f"box-{number:03}" for number in range(200)))
    again = BoxSystem(box_system.offline.store)
    monkeypatch.setattr("intentc.reconcile.loop._SLICE", 0.0)
    turn, over = 0, False

    def count_turns() -> None:
        nonlocal turn
        turn += 1
        if not over:
            asyncio.get_running_loop().call_soon(count_turns)

    in_turn: Counter[int] = Counter()
    plan = again.engine.planner.plan

    def noting(name: Name) -> Plan:
        in_turn[turn] += 1
        return plan(name)

    monkeypatch.setattr(again.engine.planner, "plan", noting)
    count_turns()
    async with again.running():
        await again.settled()
    over = True
    assert again.write.log == []
    assert in_turn.total() >= 200
    assert max(in_turn.values()) <= 4, "one plan a worker and turn, while slices have no length"


async def test_an_object_that_waits_for_one_that_somebody_else_creates_is_made_then(box_system: BoxSystem) -> None:
    await box_system.boxes("b", text=f"below {A_UUID} a")
    assert await box_system.contents() == {}
    below = Name("part", ("a", "two"))
    assert box_system.engine.states.object_waits == {below: {Name("box", ("a",))}}
    await box_system.boxes("a", uuid=A_UUID)
    assert box_system.engine.states.object_waits == {}
    assert {operation.name for operation in box_system.write.written} == {below, part("a")}
