"""The source on a real etcd that is restarted, frozen and compacted under it."""

from __future__ import annotations

from contextlib import aclosing

import anyio
import anyio.to_thread
import pytest

from intentc.dev.etcd_server import Etcd
from intentc.model.events import Batch, Snapshot
from intentc.reconcile.backoff import Backoff, Retries
from intentc.watch.etcd import EtcdStore
from intentc.watch.heartbeat import Heartbeat
from intentc.watch.protocol import Delete, Put
from intentc.watch.source import Source
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.etcd]

PREFIX = "/contrail/"
QUICK = Backoff(0.05, 0.3)


def source_on(store: EtcdStore, heartbeat: Heartbeat | None = None) -> Source:
    return Source(store, PREFIX, heartbeat=heartbeat, retries=Retries(QUICK))


async def put(store: EtcdStore, uuid: str, value: bytes = b"{}") -> int:
    return (await store.transaction([], [Put(f"{PREFIX}network/{uuid}", value)])).revision


async def collect(source: Source, items: list[Snapshot | Batch]) -> None:
    async with aclosing(source.events()) as events:
        async for item in events:
            items.append(item)


async def until_seen(items: list[Snapshot | Batch], uuid: str) -> None:
    with anyio.fail_after(PATIENCE):
        while not any(change.uuid == uuid for item in items for change in item.changes):  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def until_watching(source: Source) -> None:
    """Wait for the watch: a finished listing does not show that it is open."""
    with anyio.fail_after(PATIENCE):
        while not source.state.ready:  # noqa: ASYNC110 - the state has no event to wait for
            await anyio.sleep(0.01)


async def test_a_restart_of_etcd_loses_nothing_and_lists_nothing_again(
    fresh_etcd: Etcd, fresh_etcd_store: EtcdStore
) -> None:
    store, items = fresh_etcd_store, list[Snapshot | Batch]()
    source = source_on(store)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(collect, source, items)
        await put(store, "before")
        await until_seen(items, "before")
        await anyio.to_thread.run_sync(fresh_etcd.kill)
        with anyio.fail_after(PATIENCE):
            while source.state.ready:  # noqa: ASYNC110 - the state has no event to wait for
                await anyio.sleep(0.01)
        await anyio.to_thread.run_sync(fresh_etcd.start)
        writer = EtcdStore([fresh_etcd.endpoint])
        revisions = [await put(writer, f"after-{n}") for n in range(20)]
        await writer.close()
        await until_seen(items, "after-19")
        tasks.cancel_scope.cancel()
    assert [item.revision for item in items[-20:]] == revisions
    assert dict(source.counters.lists) == {"first": 1}


async def test_a_frozen_etcd_is_noticed_by_its_silence(fresh_etcd: Etcd, fresh_etcd_store: EtcdStore) -> None:
    store, items = fresh_etcd_store, list[Snapshot | Batch]()
    source = source_on(store, Heartbeat("test", "host-1", interval=0.2))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(source.run_heartbeat)
        tasks.start_soon(collect, source, items)
        await put(store, "before")
        await until_seen(items, "before")
        await until_watching(source)
        before = source.counters.disconnects["silent"]  # of a machine that was too slow for three beats
        fresh_etcd.suspend()
        with anyio.fail_after(PATIENCE):
            while source.counters.disconnects["silent"] == before:  # noqa: ASYNC110 - there is no event to wait for
                await anyio.sleep(0.01)
        assert not source.state.ready
        fresh_etcd.resume()
        writer = EtcdStore([fresh_etcd.endpoint])
        await put(writer, "after")
        await writer.close()
        await until_seen(items, "after")
        tasks.cancel_scope.cancel()
    assert dict(source.counters.lists) == {"first": 1}


async def test_compacted_while_away_the_deletes_show_in_a_new_snapshot(
    fresh_etcd: Etcd, fresh_etcd_store: EtcdStore
) -> None:
    store = fresh_etcd_store
    source = source_on(store)
    await store.transaction([], [Put(f"{PREFIX}network/{n}", b"{}") for n in range(50)])
    events = source.events()
    async with aclosing(events):
        first = await anext(events)
        assert len(first.changes) == 50
        # The consumer is busy with the snapshot: the watch is not open yet.
        await store.transaction([], [Delete(f"{PREFIX}network/{n}") for n in range(25)])
        await store.compact(await put(store, "last"))
        with anyio.fail_after(PATIENCE):
            second = await anext(events)
    assert isinstance(second, Snapshot)
    assert len(second.changes) == 26
    assert source.counters.disconnects["compacted"] == 1


async def test_more_keys_than_a_page_are_listed_whole(etcd_store: EtcdStore) -> None:
    for n in range(12):
        await etcd_store.transaction([], [Put(f"/paged/network/{n:02}-{m:03}", bytes(100)) for m in range(100)])
    events = Source(etcd_store, "/paged/").events()
    async with aclosing(events):
        snapshot = await anext(events)
    assert len({change.uuid for change in snapshot.changes}) == 1_200
