"""A number that an intent writes onto an object of somebody else is freed only once it no longer stands there
(docs/engine.md §8)."""

from __future__ import annotations

import pytest

from intentc.reconcile.failures import Failure, Rejected, UnknownOutcome
from tests.support.box_system import POOL, BoxSystem

pytestmark = pytest.mark.anyio


@pytest.fixture
async def labelled(box_system: BoxSystem) -> BoxSystem:
    """Box a has written its number, 1, onto the shelf ``top``."""
    await box_system.offline.server.sync(
        [{"kind": "shelf", "operation": "CREATE", "data": {"fq_name": [name]}} for name in ("top", "low")]
    )
    await box_system.boxes("a", text="label top one")
    assert await label(box_system) == 1
    box_system.write.log.clear()
    return box_system


async def label(box_system: BoxSystem, shelf: str = "top") -> int:
    key = await box_system.key("shelf", shelf)
    resource = box_system.engine.world.resource(key)
    assert resource is not None
    return int(resource.values().label)


async def taken(box_system: BoxSystem) -> list[int]:
    return sorted((await box_system.offline.local.allocations(POOL, "default/")).values())


async def test_it_is_freed_after_the_deletion_of_its_owner_has_cleared_it(labelled: BoxSystem) -> None:
    await labelled.remove("a")
    assert labelled.write.log == ["update top", "free 1"]
    assert (await label(labelled), await taken(labelled)) == (0, [])


async def test_it_is_freed_after_its_owner_has_withdrawn_it(labelled: BoxSystem) -> None:
    await labelled.change("a", text="plain")
    assert labelled.write.log.index("update top") < labelled.write.log.index("free 1")
    assert await taken(labelled) == []


async def test_it_is_freed_after_another_number_stands_in_its_place(labelled: BoxSystem) -> None:
    await labelled.change("a", text="label top two")
    assert labelled.write.log == ["allocate " + (await labelled.key("box", "a")).uuid, "update top", "free 1"]
    assert (await label(labelled), await taken(labelled)) == (2, [2])


async def test_what_is_moved_to_another_object_stays_taken(labelled: BoxSystem) -> None:
    await labelled.change("a", text="label low one")
    assert (await label(labelled), await label(labelled, "low"), await taken(labelled)) == (0, 1, [1])


@pytest.mark.parametrize("error", [Rejected(403, "not today"), UnknownOutcome("cut off")])
@pytest.mark.parametrize("text", [None, "plain", "label top two"])
async def test_it_stays_taken_while_it_cannot_be_cleared(labelled: BoxSystem, text: str | None, error: Failure) -> None:
    labelled.write.failures["top"] = [error] * 100
    await (labelled.remove("a") if text is None else labelled.change("a", text=text))
    await labelled.boxes("b", text="number")
    assert await label(labelled) == 1
    assert 1 in await taken(labelled)

    labelled.write.failures.clear()
    labelled.engine.operator_actions.retry(None)
    await labelled.settle()
    assert await label(labelled) != 1
    assert 1 not in await taken(labelled)


async def test_it_is_freed_with_the_object_on_which_it_stood(labelled: BoxSystem) -> None:
    labelled.write.failures["top"] = [Rejected(403, "not today")] * 100
    await labelled.remove("a")
    await labelled.offline.server.delete(await labelled.key("shelf", "top"))
    await labelled.settle()
    assert await taken(labelled) == []


async def test_an_owner_of_an_absent_object_gives_its_number_back_at_once(box_system: BoxSystem) -> None:
    await box_system.boxes("a", text="label nowhere one")
    assert await taken(box_system) == [1]
    await box_system.remove("a")
    assert await taken(box_system) == []


@pytest.mark.parametrize("text", [None, "plain", "label top two"])
async def test_what_an_earlier_process_wrote_is_cleared_before_its_number_is_freed(
    labelled: BoxSystem, text: str | None
) -> None:
    """The new process does not know who wrote it."""
    key = await labelled.key("box", "a")
    if text is None:
        await labelled.offline.server.delete(key)
    else:
        await labelled.offline.server.update(key, {"text": text})
    again = BoxSystem(labelled.offline.store)
    again.write.failures["top"] = [Rejected(403, "not today")] * 100
    await again.settle()
    assert await label(again) == 1
    assert 1 in await taken(again)

    again.write.failures.clear()
    again.engine.operator_actions.retry(None)
    await again.settle()
    assert again.write.log[-2:] == ["update top", "free 1"]
    assert 1 not in await taken(again)
    again.close()


async def test_what_an_earlier_process_wrote_is_replaced_before_its_number_is_freed(
    labelled: BoxSystem,
) -> None:
    """The place is claimed, so that no pass finds it, and what stands there is nobody's."""
    await labelled.boxes("b", text="label top one")
    await labelled.offline.server.delete(await labelled.key("box", "a"))
    again = BoxSystem(labelled.offline.store)
    again.write.failures["top"] = [Rejected(403, "not today")] * 100
    await again.settle()
    assert (await label(again), await taken(again)) == (1, [1, 2])

    again.write.failures.clear()
    again.engine.operator_actions.retry(None)
    await again.settle()
    assert again.write.log[-2:] == ["update top", "free 1"]
    assert (await label(again), await taken(again)) == (2, [2])
    again.close()


async def test_a_claimed_object_without_leftovers_keeps_no_number_at_a_start(labelled: BoxSystem) -> None:
    """Its write is rejected for ever, and is about what it lacks."""
    await labelled.boxes("b", text="number")
    await labelled.change("a", text="plain")
    await labelled.offline.server.delete(await labelled.key("box", "b"))
    await labelled.boxes("c", text="label top one", settle=False)
    again = BoxSystem(labelled.offline.store)
    again.write.failures["top"] = [Rejected(403, "not today")] * 100
    await again.settle()
    assert (await label(again), sorted((await again.numbers()).values())) == (0, [1])
    again.close()


async def test_writes_of_an_earlier_process_keep_no_number_that_is_released_later(labelled: BoxSystem) -> None:
    await labelled.boxes("b", text="number")
    await labelled.offline.server.delete(await labelled.key("box", "a"))
    again = BoxSystem(labelled.offline.store)
    again.write.failures["top"] = [Rejected(403, "not today")] * 100
    await again.settle()
    assert await taken(again) == [1, 2]
    await again.remove("b")
    assert await taken(again) == [1]
    again.close()
