"""References without a target are counted in slices, and again after a change."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from intentc.inspection.pending_references import PendingReferences
from intentc.watch.protocol import Put
from tests.support.box_system import BoxSystem
from tests.support.waiting import until

pytestmark = pytest.mark.anyio

ABSENT = "00000000-0000-4000-8000-00000000000"


async def put(box_system: BoxSystem, number: int, *targets: str) -> None:
    """A box that refers to these, past the API server, which would reject it."""
    references = ",".join(f'{{"to":["{target}"],"uuid":"{target}"}}' for target in targets)
    value = f'{{"uuid":"{ABSENT}{number}","fq_name":["{ABSENT}{number}"],"text":"x","box_refs":[{references}]}}'
    await box_system.offline.store.transaction([], [Put(f"/contrail/box/{ABSENT}{number}", value.encode())])
    await box_system.offline.settle()


async def test_a_reference_whose_target_has_not_come_is_counted_until_it_has(box_system: BoxSystem) -> None:
    pending = PendingReferences(box_system.engine.world, lambda: True)
    await put(box_system, 1, f"{ABSENT}2", f"{ABSENT}3")
    await pending.look()
    assert pending.count == 2
    assert [example.link.value for example in pending.examples] == [f"{ABSENT}2", f"{ABSENT}3"]
    await put(box_system, 2)
    assert [example.link.value for example in pending.still()] == [f"{ABSENT}3"], "at once, whatever was counted"
    await pending.look()
    assert pending.count == 1
    await put(box_system, 3)
    await pending.look()
    assert (pending.count, pending.examples) == (0, ())


async def test_nothing_is_counted_while_nothing_changes(box_system: BoxSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    pending = PendingReferences(box_system.engine.world, lambda: True, period=0.0)
    looks = 0
    look = pending.look

    async def counted() -> None:
        nonlocal looks
        looks += 1
        await look()

    monkeypatch.setattr(pending, "look", counted)
    async with anyio.create_task_group() as group:
        group.start_soon(pending.run)
        await until(lambda: looks == 1)
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert looks == 1
        await put(box_system, 1, f"{ABSENT}2")
        await until(lambda: pending.count == 1)
        assert looks == 2
        group.cancel_scope.cancel()


async def test_a_question_after_a_change_does_not_get_an_old_count(box_system: BoxSystem) -> None:
    pending = PendingReferences(box_system.engine.world, lambda: True)
    await pending.look()
    await put(box_system, 1, f"{ABSENT}2")
    assert pending.now() == 1
