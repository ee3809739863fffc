"""How far the watch is behind etcd, and how far a listing has come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

import anyio
import anyio.lowlevel
import pytest

from intentc.model.events import Batch, Snapshot
from intentc.watch.heartbeat import Heartbeat
from intentc.watch.listing import PageLimits
from intentc.watch.protocol import Put
from intentc.watch.source import Source
from intentc.watch.watch_state import Progress
from tests.support.faulty_store import FaultyStore
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store() -> AsyncIterator[FaultyStore]:
    store = FaultyStore()
    for number in range(5):
        await store.transaction([], [Put(f"/contrail/box/{number}", b"{}")])
    yield store
    await store.close()


def test_nothing_is_known_before_the_first_listing_was_applied() -> None:
    progress = Progress()
    progress.saw(7)
    assert progress.lag is None


def test_what_was_seen_and_not_applied_is_the_lag() -> None:
    progress = Progress()
    progress.delivered(Snapshot(10, ()))
    progress.saw(14)
    assert progress.lag == 4
    progress.delivered(Batch(14, ()))
    assert progress.lag == 0


def test_a_beat_shows_that_everything_before_it_has_come() -> None:
    progress = Progress()
    progress.delivered(Snapshot(10, ()))
    progress.saw(14)
    progress.beat(14)
    assert progress.lag == 0


def test_a_batch_that_a_beat_has_overtaken_is_behind() -> None:
    progress = Progress()
    progress.delivered(Snapshot(10, ()))
    progress.beat(14)
    progress.delivered(Batch(12, ()))
    assert progress.lag == 2


def test_a_store_that_was_put_back_is_not_behind() -> None:
    progress = Progress()
    progress.delivered(Snapshot(100, ()))
    progress.delivered(Snapshot(40, ()))
    assert progress.lag == 0


async def test_a_listing_reports_its_progress(store: FaultyStore) -> None:
    source = Source(store, "/contrail/", pages=PageLimits(keys=2))
    reported: list[tuple[int, int]] = []
    source.progress.listing = lambda *figures: reported.append(figures)  # type: ignore[method-assign]
    async with aclosing(source.events()) as events:
        await anext(events)
    assert reported == [(0, 0), (2, 5), (4, 5), (5, 5)]


async def test_our_own_beats_show_revisions_that_the_watch_has_not_delivered(store: FaultyStore) -> None:
    source = Source(store, "/contrail/", heartbeat=Heartbeat("default", "one", interval=0.01))
    async with aclosing(source.events()) as events, anyio.create_task_group() as group:
        listed = (await anext(events)).revision
        group.start_soon(source.run_heartbeat)
        with anyio.fail_after(PATIENCE):
            # Nobody asks for the next item, so nothing more is applied.
            while source.progress.seen <= listed:
                await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert source.progress.passed == 0, "a listing counts once the next item is asked for"
