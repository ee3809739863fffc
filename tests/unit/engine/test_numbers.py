"""Requests are granted in the order of names, before writes; allocations are freed once no object carries them
(docs/engine.md §8)."""

from __future__ import annotations

import pytest

from intentc.writing import Rejected
from tests.support.box_system import POOL, BoxSystem
from tests.support.engine_status import engine_status

pytestmark = pytest.mark.anyio


async def owners(plant: BoxSystem) -> dict[str, int]:
    """Box → its number."""
    found = {}
    for owner, number in (await plant.offline.local.allocations(POOL, "default/")).items():
        found[(await plant.offline.server.name_of(owner.split("/")[1])).fq_name[0]] = number
    return found


async def test_numbers_follow_the_order_of_names_and_not_of_arrival(plant: BoxSystem) -> None:
    await plant.boxes("c", "a", "b", text="number")
    assert await owners(plant) == {"a": 1, "b": 2, "c": 3}


async def test_numbers_are_granted_before_anything_is_written(plant: BoxSystem) -> None:
    await plant.boxes("a", "b", text="number")
    assert [entry.partition(" ")[0] for entry in plant.write.log] == ["allocate", "allocate", "create", "create"]


async def test_a_number_is_freed_after_the_object_that_carries_it_is_deleted(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number")
    plant.write.log.clear()
    await plant.remove("a")
    assert plant.write.log == ["delete ticket-1", "free 1"]
    assert await plant.offline.local.allocations(POOL, "default/") == {}


async def test_a_number_stays_taken_while_its_object_cannot_be_deleted(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number")
    plant.write.failures["ticket-1"] = [Rejected(403, "not today") for _ in range(100)]
    await plant.remove("a")
    assert list((await plant.offline.local.allocations(POOL, "default/")).values()) == [1]
    await plant.boxes("b", text="number")
    assert (await owners_numbers(plant)) == {1, 2}


async def owners_numbers(plant: BoxSystem) -> set[int]:
    return set((await plant.offline.local.allocations(POOL, "default/")).values())


async def test_a_number_that_is_no_longer_asked_for_is_freed(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number")
    await plant.change("a", text="plain")
    assert await owners_numbers(plant) == set()
    assert await plant.contents() == {"a": "plain"}


async def test_a_number_that_was_freed_may_be_given_again(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number")
    await plant.remove("a")
    await plant.boxes("b", text="number")
    assert await owners(plant) == {"b": 1}


async def test_observing_never_allocates(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number", settle=False)
    observer = BoxSystem(plant.offline.store, observe=True)
    await observer.offline.settle()
    assert observer.write.log == []
    (waiting,) = engine_status(observer.engine)["waiting"]
    assert POOL in waiting["for"]


async def test_what_waits_for_a_number_is_no_problem(plant: BoxSystem) -> None:
    await plant.boxes("a", text="number", settle=False)
    observer = BoxSystem(plant.offline.store, observe=True)
    await observer.offline.settle()
    assert engine_status(observer.engine)["healthy"]
    assert observer.engine._scheduler._jobs.delayed() == {}


async def test_a_restart_asks_for_no_number_again(plant: BoxSystem) -> None:
    await plant.boxes("a", "b", text="number")
    again = BoxSystem(plant.offline.store)
    await again.offline.settle()
    assert again.write.log == []
    assert await owners(again) == {"a": 1, "b": 2}


async def test_numbers_of_owners_that_vanished_meanwhile_are_freed_at_the_start(plant: BoxSystem) -> None:
    await plant.boxes("a", "b", text="number")
    await plant.offline.server.delete(await plant.key("box", "a"))
    again = BoxSystem(plant.offline.store)
    await again.offline.settle()
    assert await owners(again) == {"b": 2}
