"""What every store delivers to a watch: whole revisions, in order, from any revision that is still there."""

from __future__ import annotations

import anyio
import pytest

from intentc.reconcile.failures import Failure
from intentc.watch.protocol import Compacted, Delete, Put, Store, Watch, WatchBatch, WatchProgress
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


async def put(store: Store, key: str, value: bytes = b"v") -> int:
    return (await store.transaction([], [Put(key, value)])).revision


async def batches(watch: Watch, count: int) -> list[WatchBatch]:
    found: list[WatchBatch] = []
    with anyio.fail_after(PATIENCE):
        async for item in watch:
            if not isinstance(item, WatchProgress):
                found.append(item)
            if len(found) == count:
                break
    return found


async def test_a_revision_of_fifty_keys_arrives_whole_and_in_order(store: Store, root: str) -> None:
    start = await put(store, root + "first")
    async with store.watch([root], start + 1) as watch:
        result = await store.transaction([], [Put(f"{root}{n}", b"") for n in reversed(range(50))])
        (batch,) = await batches(watch, 1)
    assert batch.revision == result.revision
    assert [event.item.key for event in batch.events] == [f"{root}{n}" for n in reversed(range(50))]


async def test_events_have_value_revisions_and_deletion(store: Store, root: str) -> None:
    created = await put(store, root + "a", b"1")
    changed = await put(store, root + "a", b"2")
    deleted = (await store.transaction([], [Delete(root + "a")])).revision
    async with store.watch([root], created) as watch:
        found = await batches(watch, 3)
    events = [event for batch in found for event in batch.events]
    assert [(e.item.value, e.item.create_revision, e.item.mod_revision, e.deleted) for e in events] == [
        (b"1", created, created, False),
        (b"2", created, changed, False),
        (b"", 0, deleted, True),
    ]


async def test_a_watch_resumes_where_it_is_asked_to(store: Store, root: str) -> None:
    revisions = [await put(store, root + "a", b"%d" % n) for n in range(6)]
    async with store.watch([root], revisions[2]) as watch:
        first = await batches(watch, 2)
    async with store.watch([root], first[-1].revision + 1) as watch:
        rest = await batches(watch, 2)
    assert [batch.revision for batch in first + rest] == revisions[2:]


async def test_a_watch_from_the_future_waits_for_it(store: Store, root: str) -> None:
    now = await put(store, root + "a")
    async with store.watch([root], now + 3) as watch:
        for n in range(4):
            await put(store, root + "a", b"%d" % n)
        (batch,) = await batches(watch, 1)
    assert batch.revision == now + 3


async def test_other_keys_are_not_delivered(store: Store, root: str) -> None:
    start = await put(store, root + "a/1")
    await put(store, root + "ab")
    last = await put(store, root + "a/2")
    async with store.watch([root + "a/"], start) as watch:
        found = await batches(watch, 2)
    assert [batch.revision for batch in found] == [start, last]


async def test_a_transaction_below_two_prefixes_arrives_as_one_batch_for_each(store: Store, root: str) -> None:
    start = await put(store, root + "first")
    async with store.watch([root + "a/", root + "b/"], start + 1) as watch:
        writes = [Put(root + "a/1", b""), Put(root + "b/1", b""), Put(root + "a/2", b"")]
        revision = (await store.transaction([], writes)).revision
        found = await batches(watch, 2)
    assert {(batch.revision, batch.prefix, len(batch.events)) for batch in found} == {
        (revision, root + "a/", 2),
        (revision, root + "b/", 1),
    }


async def test_more_than_four_mebibytes_are_replayed(store: Store, root: str) -> None:
    start = 0
    for n in range(60):
        values = [Put(f"{root}{n}/{m}", bytes(5_000)) for m in range(20)]
        revision = (await store.transaction([], values)).revision
        start = start or revision
    async with store.watch([root], start) as watch:
        found = await batches(watch, 60)
    assert [len(batch.events) for batch in found] == [20] * 60
    assert [batch.revision for batch in found] == list(range(start, start + 60))


async def test_a_watch_from_a_compacted_revision_says_what_is_left(store: Store, root: str) -> None:
    old = await put(store, root + "a")
    new = await put(store, root + "a")
    await store.compact(new)
    with pytest.raises(Compacted) as raised, anyio.fail_after(PATIENCE):
        async with store.watch([root], old) as watch:
            await anext(aiter(watch))
    assert raised.value.compact_revision == new


async def test_from_the_compaction_revision_on_a_watch_works(store: Store, root: str) -> None:
    await put(store, root + "a", b"old")
    new = await put(store, root + "a", b"new")
    await store.compact(new)
    later = await put(store, root + "b")
    async with store.watch([root], new) as watch:
        found = await batches(watch, 2)
    assert [batch.revision for batch in found] == [new, later]


async def test_a_watch_from_now_is_rejected(store: Store, root: str) -> None:
    with pytest.raises(ValueError, match="lose events"):
        async with store.watch([root], 0):
            pass


async def test_two_watches_do_not_take_from_each_other(store: Store, root: str) -> None:
    start = await put(store, root + "a")
    async with store.watch([root], start) as one, store.watch([root], start) as other:
        assert await batches(one, 1) == await batches(other, 1)


async def test_closing_the_store_ends_its_watches(store: Store, root: str) -> None:
    start = await put(store, root + "a")
    async with store.watch([root], start + 1) as watch:
        await store.close()
        with pytest.raises(Failure), anyio.fail_after(PATIENCE):
            await anext(aiter(watch))


async def test_the_watch_names_its_cluster(store: Store, root: str) -> None:
    found = await store.range(root)
    async with store.watch([root], found.revision + 1) as watch:
        assert watch.cluster_id == found.cluster_id != 0
