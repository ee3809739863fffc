"""F05: events that were delivered come again. They change nothing: no evaluation, no write, no number."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import anyio
import pytest

from intentc.dev.etcd_server import Etcd
from intentc.watch.protocol import Delete, Put
from intentc.watch.source import Source
from tests.faults.faulty_system import FaultySystem
from tests.faults.replaying import ReplayingStore
from tests.faults.scale_writing import SCALE
from tests.faults.writing_load import many_groups, offer
from tests.support.contrail_content import tenant
from tests.support.faulty_store import FaultyStore
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

LAST = 1_000
"""Batches that come again."""


@pytest.fixture
async def replaying(etcd: Etcd) -> AsyncIterator[ReplayingStore]:
    """A store on the shared etcd that delivers events again on demand."""
    store = ReplayingStore([etcd.endpoint], keep=LAST)
    yield store
    await store.close()


@pytest.mark.etcd
@pytest.mark.http
async def test_the_last_thousand_batches_delivered_again_evaluate_and_write_nothing(
    faulty: FaultySystem, replaying: ReplayingStore
) -> None:
    async with faulty.compiling(store=replaying) as service:
        await tenant(faulty)
        await many_groups(faulty, SCALE.groups)
        await offer(SCALE.rate, SCALE.seconds, lambda number: faulty.create("security_group", f"one-{number}"))
        await faulty.settle(service)
        before, numbers, runs = await faulty.values(), await faulty.numbers(), service.engine.evaluator.runs
        faulty.calls.seen.clear()

        again = replaying.replay()
        assert again >= min(LAST, SCALE.rate * SCALE.seconds)
        await faulty.create("domain", "comes after all of it", ())
        await faulty.settle(service)
        # Heartbeats are among the batches, and are no duplicates.
        assert service.status()["watch"]["duplicates"] >= 0.9 * again

        assert service.engine.evaluator.runs == runs
        assert faulty.calls.mutations == {}
        assert service.status()["watch"]["lists"] == {"first": 1}
        assert await faulty.numbers() == numbers
        assert before.items() <= (await faulty.values()).items()
    await faulty.check()


@pytest.mark.etcd
@pytest.mark.http
async def test_a_watch_that_repeats_itself_under_load_costs_no_write(faulty: FaultySystem, etcd: Etcd) -> None:
    """Every 20 batches the last ones come again, deletes and puts of one key among them."""
    store = ReplayingStore([etcd.endpoint], keep=LAST, every=20)

    async def change(number: int) -> None:
        uuid = await faulty.create("security_group", f"one-{number}")
        if number % 3 == 0:
            await faulty.delete("security_group", uuid)

    async with faulty.compiling(store=store) as service:
        await tenant(faulty)
        await offer(SCALE.rate, SCALE.seconds, change)
        await faulty.settle(service)
        assert store.replayed >= SCALE.rate * SCALE.seconds
    await store.close()
    await faulty.check()


async def test_a_put_that_comes_again_does_not_bring_back_a_deleted_key() -> None:
    """The twin over memory: the order of the repeated events is the worst one."""
    store = FaultyStore()
    source = Source(store, "/contrail/")
    for number in range(50):
        await store.transaction((), [Put(f"/contrail/box/{number}", b"{}")])
    async with aclosing(source.events()) as events:
        snapshot = await anext(events)
        assert len(snapshot.changes) == 50
        await store.transaction((), [Delete("/contrail/box/0")])
        first = await anext(events)
        store.faults.replay(LAST)
        await store.transaction((), [Put("/contrail/box/last", b"{}")])
        with anyio.fail_after(PATIENCE):
            last = await anext(events)
    assert [change.uuid for change in first.changes] == ["0"]
    assert [change.uuid for change in last.changes] == ["last"]
    assert source.counters.duplicates == 51
