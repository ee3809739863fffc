"""A listing in a running process is a full pass: mass deletions need approval, and an older store makes what is
remembered void (docs/engine.md §5.7, faults F03, F10)."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from intentc.model import Key
from intentc.writing import Rejected, Throttled
from tests.support.box_system import BoxSystem, part
from tests.support.engine_status import engine_status
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

MANY = [f"box-{number:02}" for number in range(60)]
"""More than may go at once without leave."""


async def test_many_owners_that_vanish_in_a_gap_take_nothing_with_them_without_leave(plant: BoxSystem) -> None:
    await plant.boxes(*MANY, "other")
    await plant.remove(*MANY, settle=False)
    await plant.relist()
    assert len(await plant.contents()) == len(MANY) + 1
    assert not [entry for entry in plant.write.log if entry.startswith("delete")]
    status = engine_status(plant.engine)
    assert (status["healthy"], status["counts"]["withheld_deletes"]) == (False, len(MANY))
    assert str(part(MANY[0])) in status["withheld_deletes"]
    assert {problem["reason"] for problem in status["problems"]} == {"DeletesHeld"}


async def test_few_owners_that_vanish_in_a_gap_take_what_is_theirs_with_them(plant: BoxSystem) -> None:
    await plant.boxes("a", "b")
    await plant.remove("a", settle=False)
    await plant.relist()
    assert await plant.contents() == {"b": "hello"}
    assert engine_status(plant.engine)["healthy"]


async def test_many_deletes_that_were_seen_live_need_no_leave(plant: BoxSystem) -> None:
    await plant.boxes(*MANY)
    await plant.remove(*MANY)
    assert await plant.contents() == {}
    assert engine_status(plant.engine)["healthy"]


async def test_many_deletes_that_were_seen_live_need_no_leave_at_a_later_listing_either(plant: BoxSystem) -> None:
    await plant.boxes(*MANY)
    for name in MANY:
        plant.write.failures[name] = [Throttled(300.0)]
    await plant.remove(*MANY)
    assert len(await plant.contents()) == len(MANY), "they are deferred"
    await plant.relist()
    assert engine_status(plant.engine)["counts"]["withheld_deletes"] == 0
    await plant.retry(*MANY)
    assert await plant.contents() == {}


async def test_deletes_that_were_seen_live_and_deferred_for_long_need_no_approval_at_any_later_listing(
    plant: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intentc.engine.engine._READ_BACK_PERIOD", 0.001)
    await plant.boxes(*MANY)
    for name in MANY:
        plant.write.failures[name] = [Rejected(403, "not now")] * 1000
    looks = 0
    settle = plant.engine._planner.guard.settle

    def counted(leaves_something: Callable[[str], object]) -> None:
        nonlocal looks
        settle(leaves_something)
        looks += plant.engine.quiet and len(plant.engine._objects.delayed) == len(MANY)

    monkeypatch.setattr(plant.engine._planner.guard, "settle", counted)
    async with plant.running():
        await plant.settled()
        await plant.remove(*MANY, settle=False)
        await until(lambda: looks > 0)
    for _ in range(2):
        await plant.relist()
        assert engine_status(plant.engine)["counts"]["withheld_deletes"] == 0


async def test_an_owner_that_came_again_and_vanished_in_a_gap_counts(plant: BoxSystem) -> None:
    for uuid in (str(UUID(int=number)) for number in range(1, len(MANY) + 1)):
        plant.engine._planner.guard.owner_gone(uuid)
        await plant.boxes(f"box-{int(UUID(uuid))}", uuid=uuid, settle=False)
    await plant.offline.settle()
    plant.engine._planner.guard.settle(plant.engine._leaves_something)
    await plant.remove(*await plant.contents(), settle=False)
    await plant.relist()
    assert engine_status(plant.engine)["counts"]["withheld_deletes"] == len(MANY)


async def test_after_leave_the_withheld_deletes_are_made(plant: BoxSystem) -> None:
    await plant.boxes(*MANY)
    await plant.remove(*MANY, settle=False)
    await plant.relist()
    for name in plant.engine._planner.guard.allow("part"):
        plant.engine._objects.plan([name])
    await plant.offline.settle()
    assert await plant.contents() == {}
    assert engine_status(plant.engine)["healthy"]


async def test_over_a_store_that_was_put_back_it_becomes_quiet_and_converged_again(plant: BoxSystem) -> None:
    await plant.boxes("a", "b")
    restore = plant.offline.store.faults.backup()
    await plant.boxes("c")
    await plant.remove("a")
    before = plant.engine.revision
    restore()
    await plant.relist()
    assert plant.engine.revision < before
    assert plant.engine.quiet
    assert engine_status(plant.engine)["converged"]
    assert await plant.contents() == {"a": "hello", "b": "hello"}


async def test_writes_that_a_restore_undid_are_made_again(plant: BoxSystem) -> None:
    await plant.boxes("a", settle=False)
    restore = plant.offline.store.faults.backup()
    await plant.offline.settle()
    plant.write.log.clear()
    restore()
    await plant.relist()
    assert plant.write.log == ["create a"]
    assert await plant.contents() == {"a": "hello"}


async def test_writes_not_seen_yet_that_a_restore_undid_are_made_again(plant: BoxSystem) -> None:
    await plant.boxes("a")
    await plant.offline.server.delete(await plant.key("part", "a", "one"))
    restore = plant.offline.store.faults.backup()
    await plant.boxes("b", settle=False)
    await plant.relist(settle=False)
    assert plant.write.log.count("create a") == 2, "it was repaired, and then that was undone"
    restore()
    await plant.relist()
    assert plant.write.log.count("create a") == 3
    assert await plant.contents() == {"a": "hello"}


async def test_numbers_that_the_restored_store_does_not_know_are_asked_for_again(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number", settle=False)
    restore = plant.offline.store.faults.backup()
    await plant.offline.settle()
    restore()
    await plant.relist()
    await plant.boxes("b", text="number")
    assert sorted((await plant.numbers()).values()) == [1, 2]
    assert await tickets(plant) == {1, 2}


async def test_numbers_of_owners_that_a_restore_undid_are_given_to_others_and_never_to_two(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number")
    restore = plant.offline.store.faults.backup()
    await plant.boxes("b", "c", text="number")
    restore()
    await plant.relist()
    await plant.boxes("d", "e", text="number")
    assert sorted((await plant.numbers()).values()) == [1, 2, 3]
    assert await tickets(plant) == {1, 2, 3}


async def tickets(plant: BoxSystem) -> set[int]:
    """The numbers on tickets in the store."""
    items = (await plant.offline.store.range("/contrail/ticket/", "/contrail/ticket0")).items
    keys = [Key("ticket", item.key.rpartition("/")[2]) for item in items]
    return {int((await plant.offline.server.name_of(key.uuid)).fq_name[0].removeprefix("ticket-")) for key in keys}
