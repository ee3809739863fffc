"""The effects of each outcome of a write, on its object and on others (docs/engine.md §6.3)."""

from __future__ import annotations

import time

import pytest

from intentc.model import Name, Update
from intentc.planning import Plan
from intentc.reconcile.failures import Conflict, Fenced, Rejected, Throttled, Unavailable, UnknownOutcome
from intentc.writing import DryRun
from tests.support.box_system import BoxSystem, part
from tests.support.engine_status import engine_status
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


async def test_after_a_conflict_the_object_is_planned_again(box_system: BoxSystem) -> None:
    box_system.write.failures["a"] = [Conflict(409, "stale")]
    await box_system.boxes("a")
    assert box_system.write.log == ["create a", "create a"]
    assert await box_system.contents() == {"a": "hello"}
    assert box_system.offline.problems() == ()


async def test_after_a_conflict_the_plan_starts_from_what_the_server_has(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    box_system.write.failures["a"] = [Conflict(412, "not at this revision")]
    await box_system.change("a", text="other")
    first, second = box_system.write.written[-1], box_system.write.log[-2:]
    assert isinstance(first, Update) and first.revision == await stored_revision(box_system, "a")
    assert second == ["update a", "update a"]


async def stored_revision(box_system: BoxSystem, box: str) -> int:
    """The revision before the last write of a box's part: what that write had to compare with."""
    key = await box_system.key("part", box, "one")
    (item,) = (await box_system.offline.store.range(f"/contrail/part/{key.uuid}")).items
    return (await box_system.offline.store.range(item.key, revision=item.mod_revision - 1)).items[0].mod_revision


async def test_after_three_conflicts_the_object_backs_off(box_system: BoxSystem) -> None:
    box_system.write.failures["a"] = [Conflict(409, "stale") for _ in range(5)]
    await box_system.boxes("a", "b")
    assert box_system.write.log.count("create a") == 3
    assert part("a") in box_system.engine.objects.delayed()
    assert await box_system.contents() == {"b": "hello"}


async def test_a_write_that_was_made_and_not_answered_is_read_back_and_not_repeated(box_system: BoxSystem) -> None:
    """F16"""
    box_system.write.lost.add("a")
    await box_system.boxes("a")
    assert box_system.write.log == ["create a"]
    assert await box_system.contents() == {"a": "hello"}


async def test_a_write_that_was_not_made_and_not_answered_is_made_again(box_system: BoxSystem) -> None:
    box_system.write.failures["a"] = [UnknownOutcome("cut off")]
    await box_system.boxes("a")
    assert box_system.write.log == ["create a", "create a"]
    assert await box_system.contents() == {"a": "hello"}


async def test_nothing_is_written_as_long_as_the_server_asks(box_system: BoxSystem) -> None:
    box_system.write.failures["*"] = [Throttled(3_000.0)]
    await box_system.boxes("a", "b")
    assert 3_000.0 - PATIENCE < box_system.engine.throttle.seconds <= 3_000.0
    assert len(box_system.write.log) == 1
    assert box_system.engine.objects.failures(part("a")) == box_system.engine.objects.failures(part("b")) == 0


async def test_a_rejected_object_is_reported_with_the_servers_message_and_the_others_go_on(
    box_system: BoxSystem,
) -> None:
    """F17"""
    box_system.write.failures["b"] = [Rejected(422, "no such colour")]
    await box_system.boxes("a", "b", "c")
    (problem,) = box_system.offline.problems()
    assert (problem.kind, problem.name, problem.reason) == ("part", "b:one", "Rejected")
    assert "no such colour" in problem.message
    assert await box_system.contents() == {"a": "hello", "c": "hello"}
    assert part("b") in box_system.engine.objects.delayed()


async def test_a_rejection_is_forgotten_when_the_object_gets_through(box_system: BoxSystem) -> None:
    box_system.write.failures["a"] = [Rejected(422, "no such colour")]
    await box_system.boxes("a")
    await box_system.retry("a")
    assert box_system.offline.problems() == ()
    assert engine_status(box_system.engine)["healthy"]


async def test_when_the_server_cannot_be_reached_nobody_writes(box_system: BoxSystem) -> None:
    box_system.write.failures["*"] = [Unavailable("connection refused")]
    await box_system.boxes("a", "b", "c")
    assert len(box_system.write.log) == 1
    assert not box_system.engine.throttle.reachable
    assert box_system.engine.objects.pending() == 3


async def test_another_leader_ends_all_writing(box_system: BoxSystem) -> None:
    box_system.write.failures["a"] = [Fenced(412, "fence is over")]
    with pytest.raises(Fenced):
        await box_system.boxes("a", "b")
    with pytest.raises(Fenced):
        await box_system.retry("a")
    assert box_system.write.log.count("create a") == 1


async def test_a_rejected_fence_ends_the_work_wherever_it_is_raised(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan(name: Name) -> Plan:
        raise Fenced(412, "fence is over")

    monkeypatch.setattr(box_system.engine.writes._object_planner, "plan", plan)
    with pytest.raises(Fenced):
        await box_system.boxes("a")


async def test_a_write_whose_echo_does_not_come_is_settled_by_reading(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The object is read back before it is written again (docs/engine.md §6.1)."""
    box_system.write.target = DryRun()  # says that it wrote, and did not
    await box_system.boxes("a")
    await box_system.retry("a")
    assert box_system.write.log == ["create a"]

    box_system.write.target = box_system.offline.local
    clock = time.monotonic
    monkeypatch.setattr(box_system.engine._read_back._assumed, "_clock", lambda: clock() + 3.0)
    assert await box_system.engine._read_back.unseen()
    await box_system.offline.settle()
    assert box_system.write.log == ["create a", "create a"]
    assert await box_system.contents() == {"a": "hello"}
