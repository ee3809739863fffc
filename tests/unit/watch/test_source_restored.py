"""A store that was restored to an older state and has passed the last applied revision since: its counter shows
nothing, its history does (F10)."""

from __future__ import annotations

import pytest

from intentc.model.events import Batch, Snapshot
from intentc.watch.protocol import Operation
from tests.support.faulty_store import FaultyStore
from tests.unit.watch.reading import delete, put, reading, write

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "lost",
    [
        [put("b")],
        [delete("a")],
        [put("b"), delete("b")],
        [delete("a"), put("a"), delete("a")],
        [put("a", b"2")],
    ],
    ids=["a create", "a delete", "a create and its delete", "deletes of one key", "an update"],
)
async def test_a_restore_is_noticed_by_what_the_store_says_of_the_past(lost: list[Operation]) -> None:
    store = FaultyStore()
    await write(store, put("a"))
    restore = store.faults.backup()
    async with reading(store) as reader:
        await reader.next()
        for change in lost:
            await write(store, change)
            await reader.next()
        await write(store, put("unseen by the watch that is cut"))
        restore()
        for number in range(20):
            await write(store, put(f"later-{number}"))
        item = await reader.next()
        assert isinstance(item, Snapshot) and item.restored
        assert reader.view.keys() == {("network", name) for name in ["a", *(f"later-{n}" for n in range(20))]}
        assert reader.source.counters.lists["restored"] == 1


@pytest.mark.parametrize("seen", [[put("b")], [delete("a")], [put("b"), delete("b")], []])
async def test_a_cut_watch_alone_is_no_restore(seen: list[Operation]) -> None:
    store = FaultyStore()
    await write(store, put("a"))
    async with reading(store) as reader:
        await reader.next()
        for change in seen:
            await write(store, change)
            await reader.next()
        store.faults.cut_watches()
        await write(store, put("c"))
        assert isinstance(await reader.next(), Batch)
        assert dict(reader.source.counters.lists) == {"first": 1}
