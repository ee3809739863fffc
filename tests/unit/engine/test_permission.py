"""Nothing is written without permission; what was only planned is carried out once it is given (docs/engine.md §9)."""

from __future__ import annotations

import asyncio

import pytest

from intentc.engine.permission import OBSERVING, STANDING_BY, Permission
from intentc.writing import Fenced, Rejected, Throttled
from tests.support.box_system import BoxSystem, Gate, part
from tests.support.engine_status import engine_status
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


class Leadership:
    """A leadership that can be lost at any moment; records rejected fences."""

    def __init__(self, plant: BoxSystem) -> None:
        self.fence: str | None = "default/7"
        self.refused: list[str] = []
        plant.engine.lead_by(lambda: self.fence, self.refused.append)


class Watching:
    """A watch, open or not."""

    ready = False


def test_without_a_reason_against_it_permission_is_granted() -> None:
    assert Permission().granted


def test_every_reason_must_go_before_it_is_granted() -> None:
    permission = Permission(observe=True)
    permission.withhold(STANDING_BY, "another leads")
    assert not permission.allow(OBSERVING)
    assert not permission.granted
    assert permission.allow(STANDING_BY), "what was only planned can be carried out"
    assert permission.granted


def test_a_leadership_that_is_not_surely_held_at_this_moment_permits_nothing() -> None:
    permission = Permission()
    held = ["default/7", None]
    permission.lead_by(lambda: held[0], lambda fence: None)
    assert permission.granted
    held.pop(0)
    assert not permission.granted


async def test_a_standby_plans_and_neither_writes_nor_allocates(plant: BoxSystem) -> None:
    plant.engine.withhold(STANDING_BY, "another leads")
    await plant.boxes("a")
    await plant.boxes("b", text="number")
    assert plant.write.log == []
    assert part("a") in plant.engine.states.planned
    assert not plant.engine.converged, "something is left to do for whoever leads"


async def test_what_a_standby_planned_and_wished_for_is_carried_out_when_it_takes_over(plant: BoxSystem) -> None:
    plant.engine.withhold(STANDING_BY, "another leads")
    await plant.boxes("a")
    await plant.boxes("b", text="number")
    plant.engine.allow(STANDING_BY)
    await plant.offline.settle()
    assert await plant.contents() == {"a": "hello"}
    assert list((await plant.numbers()).values()) == [1]
    assert plant.engine.states.planned == {}
    assert plant.engine.converged


async def test_a_standby_forgets_a_plan_that_the_leader_has_carried_out(plant: BoxSystem) -> None:
    standby = await BoxSystem(plant.offline.store).begin()
    standby.engine.withhold(STANDING_BY, "another leads")
    await plant.boxes("a", settle=False)
    await standby.offline.settle()
    assert part("a") in standby.engine.states.planned
    await plant.offline.settle()
    await standby.offline.settle()
    assert standby.engine.states.planned == {}
    assert standby.engine.converged
    assert standby.write.log == []


async def test_every_write_carries_the_fence_of_the_leadership(plant: BoxSystem) -> None:
    """The plant's server refuses it: nobody holds the leader's key there."""
    leadership = Leadership(plant)
    await plant.boxes("a")
    assert plant.write.log == ["create a"]
    assert leadership.refused == ["default/7"]
    assert await plant.contents() == {}


async def test_without_leading_a_refused_fence_ends_all_work(plant: BoxSystem) -> None:
    plant.write.failures["a"] = [Fenced(412, "fence is over")]
    with pytest.raises(Fenced):
        await plant.boxes("a", "b")


async def test_a_rejected_fence_stops_writing_and_is_reported_to_the_leadership(plant: BoxSystem) -> None:
    leadership = Leadership(plant)
    plant.write.failures["*"] = [Fenced(412, "fence is over")]
    await plant.boxes("a", "b")
    assert leadership.refused == ["default/7"]
    assert STANDING_BY in plant.engine.withheld
    assert len(plant.write.log) == 1


async def test_between_two_writes_of_one_plan_the_leadership_may_be_lost(plant: BoxSystem) -> None:
    leadership = Leadership(plant)
    fences: list[str | None] = []
    send = plant.engine._sender._send

    async def losing(operation: object, fence: str | None) -> object:
        fences.append(fence)
        leadership.fence = None
        return await send(operation, None)  # type: ignore[arg-type]

    plant.engine._sender._send = losing  # type: ignore[assignment,method-assign]
    await plant.boxes("a", "b")
    assert fences == ["default/7"], "the next write was not begun"


async def test_a_standby_forgets_a_delete_that_the_leader_has_carried_out(plant: BoxSystem) -> None:
    await plant.boxes("a", settle=False)
    await plant.offline.settle()
    standby = await BoxSystem(plant.offline.store).begin()
    standby.engine.withhold(STANDING_BY, "another leads")
    await plant.remove("a", settle=False)
    await standby.offline.settle()
    assert part("a") in standby.engine.states.planned
    await plant.offline.settle()
    await standby.offline.settle()
    assert standby.engine.states.planned == {}
    assert standby.engine.converged


async def test_a_standby_is_not_converged_while_a_number_is_to_be_given_back(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number")
    standby = await BoxSystem(plant.offline.store).begin()
    standby.engine.withhold(STANDING_BY, "another leads")
    plant.write.gates["free 1"] = Gate()
    freeing = asyncio.create_task(plant.remove("a"))
    await plant.write.gates["free 1"].entered.wait()
    await standby.offline.settle()
    assert not standby.engine.converged
    plant.write.gates["free 1"].opened.set()
    await freeing
    await standby.engine.load_allocations()
    await standby.offline.settle()
    assert standby.engine.converged


async def test_what_was_planned_while_the_lease_was_not_sure_for_a_moment_is_written_later(plant: BoxSystem) -> None:
    leadership = Leadership(plant)
    leadership.fence = None
    await plant.boxes("a")
    await plant.boxes("b", text="number")
    assert plant.write.log == []
    assert not plant.engine.converged, "nobody has withdrawn the permission"
    plant.engine._permission._fence = None  # surely held again; the plant's server knows no leader
    async with plant.running():
        await plant.settled()
    assert await plant.contents() == {"a": "hello"}
    assert list((await plant.numbers()).values()) == [1]


async def test_without_an_open_watch_nothing_is_written(plant: BoxSystem) -> None:
    """What is planned may be planned from a store that was put back meanwhile."""
    watch = Watching()
    plant.engine.see_by(watch)
    await plant.boxes("a")
    assert plant.write.log == []
    assert not plant.engine.converged
    watch.ready = True
    await plant.retry("a")
    assert await plant.contents() == {"a": "hello"}


async def test_numbers_keep_the_pause_that_the_server_asks_for(plant: BoxSystem) -> None:
    plant.write.failures["*"] = [Throttled(0.2)]
    async with plant.running():
        await plant.boxes("a", "b", "c", text="number", settle=False)
        await until(lambda: plant.engine.throttle.pauses == 1)
        asked = len(plant.write.log)
        begun = asyncio.get_running_loop().time()
        await until(lambda: len(plant.write.log) > asked)
        assert asyncio.get_running_loop().time() - begun > 0.1
        await plant.settled()
    assert sorted((await plant.numbers()).values()) == [1, 2, 3]


async def test_a_rejected_number_is_reported_with_the_servers_message(plant: BoxSystem) -> None:
    plant.write.failures["*"] = [Rejected(409, "the pool is exhausted")]
    await plant.boxes("a", text="number")
    (entry,) = engine_status(plant.engine)["quarantine"]
    assert (entry["name"], entry["state"]) == ("a", "refused")
    assert "exhausted" in entry["message"]
    assert not engine_status(plant.engine)["healthy"]


async def test_a_write_goes_with_the_fence_by_which_it_was_permitted(plant: BoxSystem) -> None:
    """Between asking twice the process may have stood still, and a write without a fence would be taken."""
    fences: list[str | None] = []
    send = plant.engine._sender._send

    async def noting(operation: object, fence: str | None) -> object:
        fences.append(fence)
        return await send(operation, None)  # type: ignore[arg-type]

    plant.engine._sender._send = noting  # type: ignore[assignment,method-assign]
    answers = ["default/7", "default/7"]  # for the plan, for the write; then the lease is over
    plant.engine.lead_by(lambda: answers.pop(0) if answers else None, lambda fence: None)
    await plant.boxes("a")
    assert fences == ["default/7"]
