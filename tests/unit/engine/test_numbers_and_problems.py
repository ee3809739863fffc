"""A number that nothing shows any more is freed whatever else keeps objects from being right, and one that something
shows is not (docs/engine.md §8)."""

from __future__ import annotations

import pytest

from intentc.reconcile.failures import Rejected
from tests.support.box_system import POOL, BoxSystem

pytestmark = pytest.mark.anyio


async def taken(system: BoxSystem) -> set[int]:
    return set((await system.offline.local.allocations(POOL, "default/")).values())


async def label(box_system: BoxSystem, shelf: str) -> int:
    resource = box_system.engine.world.resource(await box_system.key("shelf", shelf))
    assert resource is not None
    return int(resource.values().label)


@pytest.fixture
async def shelf(box_system: BoxSystem) -> BoxSystem:
    await box_system.offline.server.create("shelf", {"fq_name": ["top"]})
    return box_system


async def test_a_dispute_of_others_keeps_no_unwritten_number(shelf: BoxSystem) -> None:
    await shelf.boxes("a", text="label top one")
    await shelf.boxes("b", text="label top one")
    await shelf.boxes("c", text="label top one")
    assert (await label(shelf, "top"), await taken(shelf)) == (1, {1, 2, 3})
    await shelf.remove("b")
    assert (await label(shelf, "top"), await taken(shelf)) == (1, {1, 3})


async def test_a_dispute_of_others_keeps_the_number_that_stays_written(shelf: BoxSystem) -> None:
    for name in ("a", "b", "c"):
        await shelf.boxes(name, text="label top one")
    await shelf.remove("a")
    assert (await label(shelf, "top"), await taken(shelf)) == (1, {1, 2, 3})
    await shelf.remove("c")
    assert (await label(shelf, "top"), await taken(shelf)) == (2, {2})


async def test_an_unwritten_number_is_freed_although_its_successor_is_rejected(shelf: BoxSystem) -> None:
    shelf.write.failures["top"] = [Rejected(403, "not today")] * 100
    await shelf.boxes("a", text="label top one")
    await shelf.remove("a", settle=False)
    await shelf.boxes("b", text="label top one")
    assert (await label(shelf, "top"), await taken(shelf)) == (0, {2})


async def test_a_number_that_stands_there_stays_taken_while_its_successor_is_rejected(shelf: BoxSystem) -> None:
    await shelf.boxes("a", text="label top one")
    shelf.write.failures["top"] = [Rejected(403, "not today")] * 100
    await shelf.remove("a", settle=False)
    await shelf.boxes("b", text="label top one")
    assert (await label(shelf, "top"), await taken(shelf)) == (1, {1, 2})
