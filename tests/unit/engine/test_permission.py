"""Nothing is written without permission; what was only planned is carried out once it is given (docs/engine.md §9)."""

from __future__ import annotations

import asyncio

import pytest

from intentc.engine.permission import OBSERVING, STANDING_BY, Permission
from intentc.reconcile.failures import Fenced, Rejected, Throttled
from tests.support.box_system import BoxSystem, Gate, part
from tests.support.engine_status import engine_status
from tests.support.waiting import until

pytestmark = pytest.mark.anyio


class Leadership:
    """A leadership that can be lost at any moment; records rejected fences."""

    def __init__(self, box_system: BoxSystem) -> None:
        self.fence: str | None = "default/7"
        self.rejected: list[str] = []
        box_system.engine.permission.require_leadership(lambda: self.fence, self.rejected.append)


class Watching:
    """A watch, open or not."""

    ready = False


def test_without_a_reason_against_it_permission_is_granted() -> None:
    assert Permission().granted


def test_every_reason_must_go_before_it_is_granted() -> None:
    permission = Permission(observe=True)
    permission.withhold(STANDING_BY, "another leads")
    assert not permission.lift(OBSERVING)
    assert not permission.granted
    assert permission.lift(STANDING_BY), "what was only planned can be carried out"
    assert permission.granted


def test_a_leadership_that_is_not_surely_held_at_this_moment_permits_nothing() -> None:
    permission = Permission()
    held = ["default/7", None]
    permission.require_leadership(lambda: held[0], lambda fence: None)
    assert permission.granted
    held.pop(0)
    assert not permission.granted


async def test_a_standby_plans_and_neither_writes_nor_allocates(box_system: BoxSystem) -> None:
    box_system.engine.withhold(STANDING_BY, "another leads")
    await box_system.boxes("a")
    await box_system.boxes("b", text="number")
    assert box_system.write.log == []
    assert part("a") in box_system.engine.states.planned
    assert not box_system.engine.converged, "something is left to do for whoever leads"


async def test_a_takeover_carries_out_the_standbys_plans_and_requests(box_system: BoxSystem) -> None:
    box_system.engine.withhold(STANDING_BY, "another leads")
    await box_system.boxes("a")
    await box_system.boxes("b", text="number")
    box_system.engine.lift(STANDING_BY)
    await box_system.offline.settle()
    assert await box_system.contents() == {"a": "hello"}
    assert list((await box_system.numbers()).values()) == [1]
    assert box_system.engine.states.planned == {}
    assert box_system.engine.converged


async def test_a_standby_forgets_a_plan_that_the_leader_has_carried_out(box_system: BoxSystem) -> None:
    standby = await BoxSystem(box_system.offline.store).begin()
    standby.engine.withhold(STANDING_BY, "another leads")
    await box_system.boxes("a", settle=False)
    await standby.offline.settle()
    assert part("a") in standby.engine.states.planned
    await box_system.offline.settle()
    await standby.offline.settle()
    assert standby.engine.states.planned == {}
    assert standby.engine.converged
    assert standby.write.log == []


async def test_every_write_carries_the_fence_of_the_leadership(box_system: BoxSystem) -> None:
    """The API server rejects it: nobody holds the leader's key there."""
    leadership = Leadership(box_system)
    await box_system.boxes("a")
    assert box_system.write.log == ["create a"]
    assert leadership.rejected == ["default/7"]
    assert await box_system.contents() == {}


async def test_without_leading_a_rejected_fence_ends_all_work(box_system: BoxSystem) -> None:
    box_system.write.failures["a"] = [Fenced(412, "fence is over")]
    with pytest.raises(Fenced):
        await box_system.boxes("a", "b")


async def test_a_rejected_fence_stops_writing_and_is_reported_to_the_leadership(box_system: BoxSystem) -> None:
    leadership = Leadership(box_system)
    box_system.write.failures["*"] = [Fenced(412, "fence is over")]
    await box_system.boxes("a", "b")
    assert leadership.rejected == ["default/7"]
    assert STANDING_BY in box_system.engine.permission.withheld_for
    assert len(box_system.write.log) == 1


async def test_between_two_writes_of_one_plan_the_leadership_may_be_lost(box_system: BoxSystem) -> None:
    leadership = Leadership(box_system)
    fences: list[str | None] = []
    send = box_system.engine.sender._send

    async def losing(operation: object, fence: str | None) -> object:
        fences.append(fence)
        leadership.fence = None
        return await send(operation, None)  # type: ignore[arg-type]

    box_system.engine.sender._send = losing  # type: ignore[assignment,method-assign]
    await box_system.boxes("a", "b")
    assert fences == ["default/7"], "the next write was not begun"


async def test_a_standby_forgets_a_delete_that_the_leader_has_carried_out(box_system: BoxSystem) -> None:
    await box_system.boxes("a", settle=False)
    await box_system.offline.settle()
    standby = await BoxSystem(box_system.offline.store).begin()
    standby.engine.withhold(STANDING_BY, "another leads")
    await box_system.remove("a", settle=False)
    await standby.offline.settle()
    assert part("a") in standby.engine.states.planned
    await box_system.offline.settle()
    await standby.offline.settle()
    assert standby.engine.states.planned == {}
    assert standby.engine.converged


async def test_a_standby_is_not_converged_while_a_number_is_to_be_freed(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number")
    standby = await BoxSystem(box_system.offline.store).begin()
    standby.engine.withhold(STANDING_BY, "another leads")
    box_system.write.gates["free 1"] = Gate()
    freeing = asyncio.create_task(box_system.remove("a"))
    await box_system.write.gates["free 1"].entered.wait()
    await standby.offline.settle()
    assert not standby.engine.converged
    box_system.write.gates["free 1"].opened.set()
    await freeing
    await standby.engine.load_allocations()
    await standby.offline.settle()
    assert standby.engine.converged


async def test_a_plan_made_while_the_lease_was_uncertain_is_written_later(
    box_system: BoxSystem,
) -> None:
    leadership = Leadership(box_system)
    leadership.fence = None
    await box_system.boxes("a")
    await box_system.boxes("b", text="number")
    assert box_system.write.log == []
    assert not box_system.engine.converged, "nobody has withdrawn the permission"
    box_system.engine.permission._fence = None  # surely held again; the API server knows no leader
    async with box_system.running():
        await box_system.settled()
    assert await box_system.contents() == {"a": "hello"}
    assert list((await box_system.numbers()).values()) == [1]


async def test_without_an_open_watch_nothing_is_written(box_system: BoxSystem) -> None:
    """What is planned may be planned from a store that was put back meanwhile."""
    watch = Watching()
    box_system.engine.permission.require_watch(watch)
    await box_system.boxes("a")
    assert box_system.write.log == []
    assert not box_system.engine.converged
    watch.ready = True
    await box_system.retry("a")
    assert await box_system.contents() == {"a": "hello"}


async def test_numbers_keep_the_pause_that_the_server_asks_for(box_system: BoxSystem) -> None:
    box_system.write.failures["*"] = [Throttled(0.2)]
    async with box_system.running():
        await box_system.boxes("a", "b", "c", text="number", settle=False)
        await until(lambda: box_system.engine.throttle.pauses == 1)
        asked = len(box_system.write.log)
        begun = asyncio.get_running_loop().time()
        await until(lambda: len(box_system.write.log) > asked)
        assert asyncio.get_running_loop().time() - begun > 0.1
        await box_system.settled()
    assert sorted((await box_system.numbers()).values()) == [1, 2, 3]


async def test_a_rejected_number_is_reported_with_the_servers_message(box_system: BoxSystem) -> None:
    box_system.write.failures["*"] = [Rejected(409, "the pool is exhausted")]
    await box_system.boxes("a", text="number")
    (entry,) = engine_status(box_system.engine)["quarantine"]
    assert (entry["name"], entry["state"]) == ("a", "rejected")
    assert "exhausted" in entry["message"]
    assert not engine_status(box_system.engine)["healthy"]


async def test_a_write_goes_with_the_fence_by_which_it_was_permitted(box_system: BoxSystem) -> None:
    """Between asking twice the process may have stood still, and a write without a fence would be taken."""
    fences: list[str | None] = []
    send = box_system.engine.sender._send

    async def noting(operation: object, fence: str | None) -> object:
        fences.append(fence)
        return await send(operation, None)  # type: ignore[arg-type]

    box_system.engine.sender._send = noting  # type: ignore[assignment,method-assign]
    answers = ["default/7", "default/7"]  # for the plan, for the write; then the lease is over
    box_system.engine.permission.require_leadership(lambda: answers.pop(0) if answers else None, lambda fence: None)
    await box_system.boxes("a")
    assert fences == ["default/7"]
