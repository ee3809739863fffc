"""What only the memory store has: a clock of one's own, and faults on demand. The rest is the conformance suite's."""

from __future__ import annotations

import anyio
import pytest

from intentc.reconcile.failures import Unavailable
from intentc.watch.protocol import Put, WatchBatch
from tests.support.faulty_store import FaultyStore
from tests.unit.watch.reading import delete, put, write

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_leases_follow_the_given_clock() -> None:
    clock = Clock()
    store = FaultyStore(clock=clock)
    lease = await store.grant_lease(10)
    await store.transaction([], [Put("/a", b"", lease)])
    clock.now = 9
    assert await store.keep_lease_alive(lease) == 10
    clock.now = 18
    assert (await store.range("/a")).items
    clock.now = 19
    assert not (await store.range("/a")).items
    assert await store.keep_lease_alive(lease) == 0


async def test_a_new_store_begins_where_etcd_does() -> None:
    store = FaultyStore()
    assert (await store.range("/a")).revision == 1
    assert await write(store, put("a")) == 2


async def test_a_lost_revision_is_not_delivered_but_stored() -> None:
    store = FaultyStore()
    async with store.watch(["/contrail/"], 2) as watch:
        store.faults.lose_next()
        await write(store, put("lost"))
        seen = await write(store, put("seen"))
        batch = await anext(aiter(watch))
    assert batch.revision == seen
    assert (await store.range("/contrail/network/lost")).items


async def test_replayed_revisions_come_again_and_in_order() -> None:
    store = FaultyStore()
    async with store.watch(["/contrail/"], 2) as watch:
        revisions = [await write(store, put("a")), await write(store, delete("a"))]
        for _ in revisions:
            await anext(aiter(watch))
        store.faults.replay(2)
        again = [await anext(aiter(watch)) for _ in revisions]
    assert [item.revision for item in again] == revisions


async def test_a_silent_watch_says_nothing_and_does_not_end() -> None:
    store = FaultyStore()
    async with store.watch(["/contrail/"], 2) as watch:
        store.faults.silence_watches()
        await write(store, put("a"))
        store.faults.cut_watches()
        with anyio.move_on_after(0.02) as scope:
            await anext(aiter(watch))
        assert scope.cancelled_caught


async def test_a_restored_backup_forgets_what_came_after() -> None:
    store = FaultyStore()
    then = await write(store, put("a"))
    restore = store.faults.backup()
    await write(store, put("b"))
    async with store.watch(["/contrail/"], then) as watch:
        restore()
        with pytest.raises(Unavailable, match="backup"):
            await anext(aiter(watch))
    assert (await store.range("/contrail/network/b")).revision == then
    assert await write(store, put("c")) == then + 1


async def test_a_delete_on_the_compaction_revision_is_not_seen_from_there() -> None:
    """etcd #19179: the reason why the relist exists."""
    store = FaultyStore()
    await write(store, put("a"))
    deleted = await write(store, delete("a"), put("b"))
    await store.compact(deleted)
    async with store.watch(["/contrail/"], deleted) as watch:
        batch = await anext(aiter(watch))
    assert isinstance(batch, WatchBatch)
    assert [event.item.key for event in batch.events] == ["/contrail/network/b"]


async def test_unreachable_calls_raise_and_open_watches_go_on() -> None:
    store = FaultyStore()
    async with store.watch(["/contrail/"], 2) as watch:
        await write(store, put("a"))
        store.faults.unreachable = True
        with pytest.raises(Unavailable):
            await store.range("/a")
        assert await anext(aiter(watch))
