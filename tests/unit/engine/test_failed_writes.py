"""The effects of each outcome of a write, on its object and on others (docs/engine.md §6.3)."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

from intentc.model import Update
from intentc.testing.recording import Acknowledging
from intentc.writing import Conflict, Fenced, Rejected, Throttled, UnknownOutcome, Unreachable
from tests.support.box_system import BoxSystem, part
from tests.support.engine_status import engine_status
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


async def test_after_a_conflict_the_object_is_planned_again(plant: BoxSystem) -> None:
    plant.write.failures["a"] = [Conflict(409, "stale")]
    await plant.boxes("a")
    assert plant.write.log == ["create a", "create a"]
    assert await plant.contents() == {"a": "hello"}
    assert plant.offline.problems() == ()


async def test_after_a_conflict_the_plan_starts_from_what_the_server_has(plant: BoxSystem) -> None:
    await plant.boxes("a")
    plant.write.failures["a"] = [Conflict(412, "not at this revision")]
    await plant.change("a", text="other")
    first, second = plant.write.written[-1], plant.write.log[-2:]
    assert isinstance(first, Update) and first.revision == await stored_revision(plant, "a")
    assert second == ["update a", "update a"]


async def stored_revision(plant: BoxSystem, box: str) -> int:
    """The revision before the last write of a box's part: what that write had to compare with."""
    key = await plant.key("part", box, "one")
    (item,) = (await plant.offline.store.range(f"/contrail/part/{key.uuid}")).items
    return (await plant.offline.store.range(item.key, revision=item.mod_revision - 1)).items[0].mod_revision


async def test_after_three_conflicts_the_object_backs_off(plant: BoxSystem) -> None:
    plant.write.failures["a"] = [Conflict(409, "stale") for _ in range(5)]
    await plant.boxes("a", "b")
    assert plant.write.log.count("create a") == 3
    assert part("a") in plant.engine._objects.delayed
    assert await plant.contents() == {"b": "hello"}


async def test_a_write_that_was_made_and_not_answered_is_read_back_and_not_repeated(plant: BoxSystem) -> None:
    """F16"""
    plant.write.lost.add("a")
    await plant.boxes("a")
    assert plant.write.log == ["create a"]
    assert await plant.contents() == {"a": "hello"}


async def test_a_write_that_was_not_made_and_not_answered_is_made_again(plant: BoxSystem) -> None:
    plant.write.failures["a"] = [UnknownOutcome("cut off")]
    await plant.boxes("a")
    assert plant.write.log == ["create a", "create a"]
    assert await plant.contents() == {"a": "hello"}


async def test_a_throttled_object_waits_as_long_as_the_server_asks(plant: BoxSystem) -> None:
    plant.write.failures["a"] = [Throttled(5_000.0)]
    await plant.boxes("a", "b")
    due = plant.engine._objects._queue.delayed()[part("a")]
    assert 5_000.0 - PATIENCE < due - asyncio.get_running_loop().time() <= 5_000.0
    assert await plant.contents() == {"b": "hello"}
    assert plant.engine.states.failed_writes(part("a")) == 0


async def test_a_rejected_object_is_reported_with_the_servers_message_and_the_others_go_on(plant: BoxSystem) -> None:
    """F17"""
    plant.write.failures["b"] = [Rejected(422, "no such colour")]
    await plant.boxes("a", "b", "c")
    (problem,) = plant.offline.problems()
    assert (problem.kind, problem.name, problem.reason) == ("part", "b:one", "Refused")
    assert "no such colour" in problem.message
    assert await plant.contents() == {"a": "hello", "c": "hello"}
    assert part("b") in plant.engine._objects.delayed


async def test_a_refusal_is_forgotten_when_the_object_gets_through(plant: BoxSystem) -> None:
    plant.write.failures["a"] = [Rejected(422, "no such colour")]
    await plant.boxes("a")
    await plant.retry("a")
    assert plant.offline.problems() == ()
    assert engine_status(plant.engine)["healthy"]


async def test_when_the_server_cannot_be_reached_nobody_writes(plant: BoxSystem) -> None:
    plant.write.failures["*"] = [Unreachable("refused")]
    await plant.boxes("a", "b", "c")
    assert len(plant.write.log) == 1
    assert not plant.engine.reachable
    assert set(plant.engine._objects.delayed) == {part("a"), part("b"), part("c")}


async def test_another_leader_ends_all_writing(plant: BoxSystem) -> None:
    plant.write.failures["a"] = [Fenced(412, "fence is over")]
    with pytest.raises(Fenced):
        await plant.boxes("a", "b")
    with pytest.raises(Fenced):
        await plant.retry("a")
    assert plant.write.log.count("create a") == 1


async def test_a_fault_of_our_own_is_logged_and_tried_again(plant: BoxSystem, caplog: pytest.LogCaptureFixture) -> None:
    plant.write.failures["a"] = [ZeroDivisionError("a fault")]
    with caplog.at_level(logging.ERROR):
        await plant.boxes("a", "b")
    assert "failed unexpectedly" in caplog.text
    assert await plant.contents() == {"b": "hello"}
    await plant.retry("a")
    assert set(await plant.contents()) == {"a", "b"}


async def test_a_write_whose_echo_does_not_come_is_settled_by_reading(
    plant: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The object is read back before it is written again (docs/engine.md §6.1)."""
    plant.write.target = Acknowledging()  # says that it wrote, and did not
    await plant.boxes("a")
    await plant.retry("a")
    assert plant.write.log == ["create a"]

    plant.write.target = plant.offline.local
    clock = time.monotonic
    monkeypatch.setattr(plant.engine._read_back._assumed, "_clock", lambda: clock() + 3.0)
    assert await plant.engine._read_back.unseen()
    await plant.offline.settle()
    assert plant.write.log == ["create a", "create a"]
    assert await plant.contents() == {"a": "hello"}
