"""A listing in a running process is a full pass: mass deletions need approval, and an older store makes what is
remembered void (docs/engine.md §5.7, faults F03, F10)."""

from __future__ import annotations

from collections.abc import Set
from uuid import UUID

import pytest

from intentc.model import Key
from intentc.reconcile.failures import Rejected
from tests.support.box_system import BoxSystem, part
from tests.support.engine_status import engine_status
from tests.support.faulty_store import faults_of
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

MANY = [f"box-{number:02}" for number in range(60)]
"""More than may go at once without leave."""


async def test_outputs_of_many_owners_lost_in_a_gap_stay_without_approval(box_system: BoxSystem) -> None:
    await box_system.boxes(*MANY, "other")
    await box_system.remove(*MANY, settle=False)
    await box_system.relist()
    assert len(await box_system.contents()) == len(MANY) + 1
    assert not [entry for entry in box_system.write.log if entry.startswith("delete")]
    status = engine_status(box_system.engine)
    assert (status["healthy"], status["counts"]["withheld_deletes"]) == (False, len(MANY))
    assert str(part(MANY[0])) in status["withheld_deletes"]
    assert {problem["reason"] for problem in status["problems"]} == {"DeletesHeld"}


async def test_outputs_of_few_owners_lost_in_a_gap_are_deleted(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    await box_system.remove("a", settle=False)
    await box_system.relist()
    assert await box_system.contents() == {"b": "hello"}
    assert engine_status(box_system.engine)["healthy"]


async def test_many_deletes_that_were_seen_live_need_no_approval(box_system: BoxSystem) -> None:
    await box_system.boxes(*MANY)
    await box_system.remove(*MANY)
    assert await box_system.contents() == {}
    assert engine_status(box_system.engine)["healthy"]


async def test_many_deletes_seen_live_need_no_approval_at_a_later_listing(box_system: BoxSystem) -> None:
    await box_system.boxes(*MANY)
    for name in MANY:
        box_system.write.failures[name] = [Rejected(403, "not now")]
    await box_system.remove(*MANY)
    assert len(await box_system.contents()) == len(MANY), "they are deferred"
    await box_system.relist()
    assert engine_status(box_system.engine)["counts"]["withheld_deletes"] == 0
    await box_system.retry(*MANY)
    assert await box_system.contents() == {}


async def test_deferred_deletes_seen_live_need_no_later_approval(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intentc.engine.engine._READ_BACK_PERIOD", 0.001)
    await box_system.boxes(*MANY)
    for name in MANY:
        box_system.write.failures[name] = [Rejected(403, "not now")] * 1000
    looks = 0
    forget = box_system.engine.planner.guard.forget

    def counted(owners: Set[str]) -> None:
        nonlocal looks
        forget(owners)
        looks += box_system.engine.quiet and len(box_system.engine.objects.delayed()) == len(MANY)

    monkeypatch.setattr(box_system.engine.planner.guard, "forget", counted)
    async with box_system.running():
        await box_system.settled()
        await box_system.remove(*MANY, settle=False)
        await until(lambda: looks > 0)
    for _ in range(2):
        await box_system.relist()
        assert engine_status(box_system.engine)["counts"]["withheld_deletes"] == 0


async def test_an_owner_that_came_again_and_vanished_in_a_gap_counts(box_system: BoxSystem) -> None:
    for uuid in (str(UUID(int=number)) for number in range(1, len(MANY) + 1)):
        box_system.engine.planner.guard.owner_deleted(uuid)
        await box_system.boxes(f"box-{int(UUID(uuid))}", uuid=uuid, settle=False)
    await box_system.offline.settle()
    box_system.engine._forget_deleted_owners()
    await box_system.remove(*await box_system.contents(), settle=False)
    await box_system.relist()
    assert engine_status(box_system.engine)["counts"]["withheld_deletes"] == len(MANY)


async def test_withheld_deletes_are_made_after_an_approval(box_system: BoxSystem) -> None:
    await box_system.boxes(*MANY)
    await box_system.remove(*MANY, settle=False)
    await box_system.relist()
    for name in box_system.engine.planner.guard.allow("part"):
        box_system.engine.objects.plan([name])
    await box_system.offline.settle()
    assert await box_system.contents() == {}
    assert engine_status(box_system.engine)["healthy"]


async def test_it_becomes_quiet_and_converged_again_after_a_restore(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b")
    restore = faults_of(box_system.offline.store).backup()
    await box_system.boxes("c")
    await box_system.remove("a")
    before = box_system.engine.revision
    restore()
    await box_system.relist()
    assert box_system.engine.revision < before
    assert box_system.engine.quiet
    assert engine_status(box_system.engine)["converged"]
    assert await box_system.contents() == {"a": "hello", "b": "hello"}


async def test_writes_that_a_restore_undid_are_made_again(box_system: BoxSystem) -> None:
    await box_system.boxes("a", settle=False)
    restore = faults_of(box_system.offline.store).backup()
    await box_system.offline.settle()
    box_system.write.log.clear()
    restore()
    await box_system.relist()
    assert box_system.write.log == ["create a"]
    assert await box_system.contents() == {"a": "hello"}


async def test_writes_not_seen_yet_that_a_restore_undid_are_made_again(box_system: BoxSystem) -> None:
    await box_system.boxes("a")
    await box_system.offline.server.delete(await box_system.key("part", "a", "one"))
    restore = faults_of(box_system.offline.store).backup()
    await box_system.boxes("b", settle=False)
    await box_system.relist(settle=False)
    assert box_system.write.log.count("create a") == 2, "it was repaired, and then that was undone"
    restore()
    await box_system.relist()
    assert box_system.write.log.count("create a") == 3
    assert await box_system.contents() == {"a": "hello"}


async def test_numbers_that_the_restored_store_does_not_know_are_asked_for_again(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number", settle=False)
    restore = faults_of(box_system.offline.store).backup()
    await box_system.offline.settle()
    restore()
    await box_system.relist()
    await box_system.boxes("b", text="number")
    assert sorted((await box_system.numbers()).values()) == [1, 2]
    assert await tickets(box_system) == {1, 2}


async def test_values_of_owners_that_a_restore_undid_are_allocated_again_once(
    box_system: BoxSystem,
) -> None:
    await box_system.boxes("a", text="number")
    restore = faults_of(box_system.offline.store).backup()
    await box_system.boxes("b", "c", text="number")
    restore()
    await box_system.relist()
    await box_system.boxes("d", "e", text="number")
    assert sorted((await box_system.numbers()).values()) == [1, 2, 3]
    assert await tickets(box_system) == {1, 2, 3}


async def tickets(box_system: BoxSystem) -> set[int]:
    """The numbers on tickets in the store."""
    items = (await box_system.offline.store.range("/contrail/ticket/", "/contrail/ticket0")).items
    keys = [Key("ticket", item.key.rpartition("/")[2]) for item in items]
    return {int((await box_system.offline.server.name_of(key.uuid)).fq_name[0].removeprefix("ticket-")) for key in keys}
