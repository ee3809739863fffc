"""The Go ancestor loses events: D1 it watches from "now", D2 it looks at no end of a watch, D3 it handles the first
event of a transaction only, D4 it notes an event as done before it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import anyio
import pytest

from intentc.model import Batch, Snapshot
from intentc.reconcile.backoff import Backoff, Retries
from intentc.reconcile.failures import Failure, UnknownOutcome
from intentc.watch.keys import Layout
from intentc.watch.protocol import Compacted, Delete, Put
from intentc.watch.source import Source
from tests.support.box_system import BoxSystem
from tests.support.contrail_system import ContrailSystem
from tests.support.faulty_store import FaultyStore
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def watching(store: FaultyStore) -> AsyncIterator[AsyncIterator[Snapshot | Batch]]:
    """What a compiler receives, from its start."""
    source = Source(store, "/contrail/", retries=Retries(Backoff(0.001, 0.01)))
    async with aclosing(source.events()) as events:
        with anyio.fail_after(PATIENCE):
            yield events


async def put(store: FaultyStore, *names: str) -> None:
    await store.transaction((), [Put(f"/contrail/box/{name}", b"{}") for name in names])


def received(item: Snapshot | Batch) -> list[str]:
    return sorted(change.uuid for change in item.changes)


async def test_d1_what_was_there_before_the_start_is_seen() -> None:
    store = FaultyStore()
    await put(store, "before")
    async with watching(store) as events:
        assert received(await anext(events)) == ["before"]


async def test_d1_what_happens_between_the_list_and_the_watch_is_seen() -> None:
    store = FaultyStore()
    async with watching(store) as events:
        assert received(await anext(events)) == []
        await put(store, "between")
        assert received(await anext(events)) == ["between"]


async def test_d1_what_happens_while_the_watch_is_cut_is_seen() -> None:
    store = FaultyStore()
    async with watching(store) as events:
        await anext(events)
        await put(store, "one")
        await anext(events)
        store.faults.cut_watches()
        await put(store, "in-the-gap")
        assert received(await anext(events)) == ["in-the-gap"]


async def test_d2_a_list_after_a_compaction_shows_deletes_in_the_gap() -> None:
    store = FaultyStore()
    await put(store, "stays", "goes")
    async with watching(store) as events:
        assert received(await anext(events)) == ["goes", "stays"]
        await put(store, "one")
        await anext(events)
        store.faults.cut_watches()
        gone = await store.transaction((), [Delete("/contrail/box/goes")])
        await put(store, "last")
        await store.compact(gone.revision + 1)
        again = await anext(events)
        assert isinstance(again, Snapshot)
        assert received(again) == ["last", "one", "stays"]


@pytest.mark.parametrize("error", [Failure("canceled: as etcd says it"), Compacted(3)])
async def test_d2_a_watch_that_etcd_ends_is_opened_again_and_nothing_is_lost(error: Failure) -> None:
    store = FaultyStore()
    async with watching(store) as events:
        await anext(events)
        await put(store, "one")
        await anext(events)
        store.faults.cut_watches(error)
        await put(store, "later")
        assert "later" in received(await anext(events))


async def test_d3_every_event_of_a_transaction_is_handled(system: ContrailSystem) -> None:
    groups = [f"blue:group-{number}" for number in range(30)]
    await system.transact(*(("CREATE", "security_group", group, {}) for group in groups))
    lists = (await system.world())["access_control_list"].values()
    assert {found["fq_name"][-2] for found in lists} >= {f"group-{number}" for number in range(30)}
    await system.check()


async def test_d3_the_events_of_a_transaction_come_as_one_batch() -> None:
    store = FaultyStore()
    async with watching(store) as events:
        await anext(events)
        await put(store, *(str(number) for number in range(50)))
        assert len((await anext(events)).changes) == 50


async def test_d4_a_restart_does_the_work_of_an_unfinished_event(system: ContrailSystem) -> None:
    """The process ends after the event was received, and before anything of it is written."""
    await system.create("security_group", "blue:cut short", settle=False)
    layout, logic = Layout.of("/contrail/"), system.engine.world
    for batch in system.store.batches(layout.prefix, logic.revision):
        await system.engine.apply_item(Batch(batch.revision, layout.changes(batch.events, print)))
    assert system.engine.jobs.pending() > 0
    again = await system.restart()
    assert again.write.written
    await again.check()


async def test_d4_work_that_failed_is_not_taken_for_done(box_system: BoxSystem) -> None:
    box_system.write.failures["a"] = [UnknownOutcome("the process was cut off")]
    await box_system.boxes("a")
    assert await box_system.contents() == {"a": "hello"}
