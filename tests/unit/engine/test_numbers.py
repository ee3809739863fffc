"""Requests are granted in the order of names, before writes; allocations are freed once no object carries them
(docs/engine.md §8)."""

from __future__ import annotations

import pytest

from intentc.reconcile.failures import Rejected
from tests.support.box_system import POOL, BoxSystem
from tests.support.engine_status import engine_status

pytestmark = pytest.mark.anyio


async def owners(box_system: BoxSystem) -> dict[str, int]:
    """Box → its number."""
    found = {}
    for owner, number in (await box_system.offline.local.allocations(POOL, "default/")).items():
        found[(await box_system.offline.server.name_of(owner.split("/")[1])).fq_name[0]] = number
    return found


async def test_numbers_follow_the_order_of_names_and_not_of_arrival(box_system: BoxSystem) -> None:
    await box_system.boxes("c", "a", "b", text="number")
    assert await owners(box_system) == {"a": 1, "b": 2, "c": 3}


async def test_numbers_are_granted_before_anything_is_written(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b", text="number")
    assert [entry.partition(" ")[0] for entry in box_system.write.log] == ["allocate", "allocate", "create", "create"]


async def test_a_number_is_freed_after_the_object_that_carries_it_is_deleted(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number")
    box_system.write.log.clear()
    await box_system.remove("a")
    assert box_system.write.log == ["delete ticket-1", "free 1"]
    assert await box_system.offline.local.allocations(POOL, "default/") == {}


async def test_a_number_stays_taken_while_its_object_cannot_be_deleted(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number")
    box_system.write.failures["ticket-1"] = [Rejected(403, "not today") for _ in range(100)]
    await box_system.remove("a")
    assert list((await box_system.offline.local.allocations(POOL, "default/")).values()) == [1]
    await box_system.boxes("b", text="number")
    assert (await owners_numbers(box_system)) == {1, 2}


async def owners_numbers(box_system: BoxSystem) -> set[int]:
    return set((await box_system.offline.local.allocations(POOL, "default/")).values())


async def test_a_number_that_is_no_longer_asked_for_is_freed(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number")
    await box_system.change("a", text="plain")
    assert await owners_numbers(box_system) == set()
    assert await box_system.contents() == {"a": "plain"}


async def test_a_number_that_was_freed_may_be_given_again(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number")
    await box_system.remove("a")
    await box_system.boxes("b", text="number")
    assert await owners(box_system) == {"b": 1}


async def test_observing_never_allocates(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number", settle=False)
    observer = BoxSystem(box_system.offline.store, observe=True)
    await observer.offline.settle()
    assert observer.write.log == []
    (waiting,) = engine_status(observer.engine)["waiting"]
    assert POOL in waiting["for"]


async def test_what_waits_for_a_number_is_no_problem(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="number", settle=False)
    observer = BoxSystem(box_system.offline.store, observe=True)
    await observer.offline.settle()
    assert engine_status(observer.engine)["healthy"]
    assert observer.engine.jobs.delayed() == {}


async def test_a_restart_asks_for_no_number_again(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b", text="number")
    again = BoxSystem(box_system.offline.store)
    await again.offline.settle()
    assert again.write.log == []
    assert await owners(again) == {"a": 1, "b": 2}


async def test_numbers_of_owners_that_vanished_meanwhile_are_freed_at_the_start(box_system: BoxSystem) -> None:
    await box_system.boxes("a", "b", text="number")
    await box_system.offline.server.delete(await box_system.key("box", "a"))
    again = BoxSystem(box_system.offline.store)
    await again.offline.settle()
    assert await owners(again) == {"b": 2}


@pytest.mark.parametrize("boxes", [10, 40])
@pytest.mark.parametrize("away", [False, True], ids=["live", "while away"])
async def test_owners_that_are_deleted_together_are_checked_a_few_times_each(
    box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch, boxes: int, away: bool
) -> None:
    """Each of them after each write would be the square of their number: seconds for 900 of them."""
    names = [f"box-{number}" for number in range(boxes)]
    await box_system.boxes(*names, text="number")
    if away:
        await box_system.remove(*names, settle=False)
        box_system = BoxSystem(box_system.offline.store)
    marked, looked_at = box_system.engine._marked, 0
    hold_up = marked.hold_up

    def counted(origin: str) -> bool:
        nonlocal looked_at
        looked_at += 1
        return hold_up(origin)

    monkeypatch.setattr(marked, "hold_up", counted)
    async with box_system.running():
        if not away:
            await box_system.remove(*names, settle=False)
        await box_system.settled()
    assert await box_system.numbers() == {}
    assert boxes <= looked_at <= 4 * boxes
