"""A number that another process was given is freed only once no object shows it, though this process did not know the
number while its owner was there (docs/engine.md §8)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from intentc.engine.permission import STANDING_BY
from intentc.reconcile.failures import Rejected
from tests.support.box_system import POOL, BoxSystem

pytestmark = pytest.mark.anyio


@pytest.fixture
async def standby(box_system: BoxSystem) -> AsyncIterator[BoxSystem]:
    """Another process over the same store, which has made its first pass while there was nothing but a shelf."""
    await box_system.offline.server.create("shelf", {"fq_name": ["top"]})
    standby = await BoxSystem(box_system.offline.store).begin()
    standby.engine.withhold(STANDING_BY, "another leads")
    yield standby
    standby.close()


async def taken(box_system: BoxSystem) -> list[int]:
    return sorted((await box_system.offline.local.allocations(POOL, "default/")).values())


async def label(box_system: BoxSystem) -> int:
    resource = box_system.engine.world.resource(await box_system.key("shelf", "top"))
    assert resource is not None
    return int(resource.values().label)


async def takes_over(standby: BoxSystem) -> None:
    await standby.engine.load_allocations()
    standby.engine.lift(STANDING_BY)
    await standby.settle()


@pytest.mark.parametrize(
    ("text", "claimed"),
    [(None, False), ("plain", False), ("label top two", False), (None, True), ("plain", True)],
)
async def test_it_is_cleared_before_it_is_freed_by_the_next_leader(
    box_system: BoxSystem, standby: BoxSystem, text: str | None, claimed: bool
) -> None:
    """The owner comes and goes between two loads of the standby. ``claimed``: another box claims the place."""
    await box_system.boxes("a", text="label top one")
    await standby.settle()
    if claimed:
        await box_system.boxes("b", text="label top one", settle=False)
    key = await box_system.key("box", "a")
    if text is None:
        await box_system.offline.server.delete(key)
    else:
        await box_system.offline.server.update(key, {"text": text})
    await standby.settle()

    standby.write.failures["top"] = [Rejected(403, "not today")] * 100
    await takes_over(standby)
    assert await label(standby) == 1
    assert 1 in await taken(standby)

    standby.write.failures.clear()
    standby.engine.operator_actions.retry(None)
    await standby.settle()
    assert standby.write.log.index("free 1") > standby.write.log.index("update top")
    assert await label(standby) != 1
    assert 1 not in await taken(standby)


async def test_it_is_freed_at_once_if_no_object_shows_it(box_system: BoxSystem, standby: BoxSystem) -> None:
    await box_system.boxes("a", text="label nowhere one")
    await standby.settle()
    await box_system.offline.server.delete(await box_system.key("box", "a"))
    await standby.settle()
    await takes_over(standby)
    assert await taken(standby) == []


async def test_a_number_is_freed_though_its_owner_was_evaluated_before_it_was_known(
    box_system: BoxSystem,
) -> None:
    """A restored store has the number again that its owner gave back."""
    await box_system.boxes("a", text="plain")
    owner = f"default/{(await box_system.key('box', 'a')).uuid}/ticket"
    await box_system.offline.local.allocate(POOL, owner)
    await box_system.engine.load_allocations()
    await box_system.settle()
    assert await taken(box_system) == []
