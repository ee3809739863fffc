"""Our own heartbeat distinguishes a silent watch from a quiet one (docs/engine.md §1.4)."""

from __future__ import annotations

import anyio
import pytest

from intentc.watch.heartbeat import Heartbeat
from intentc.watch.watch_state import Phase
from tests.support.faulty_store import FaultyStore
from tests.support.waiting import until
from tests.unit.watch.reading import put, reading, write

pytestmark = pytest.mark.anyio

FAST = Heartbeat("test", "host-1", interval=0.02)


@pytest.fixture
def store() -> FaultyStore:
    return FaultyStore()


async def test_beats_keep_a_quiet_watch_open(store: FaultyStore) -> None:
    async with reading(store, heartbeat=FAST) as reader, anyio.create_task_group() as tasks:
        tasks.start_soon(reader.source.run_heartbeat)
        await reader.next()

        async def write_after_many_beats() -> None:
            await until(lambda: reader.source.counters.heartbeats_seen >= 10)
            await write(store, put("a"))

        tasks.start_soon(write_after_many_beats)
        await reader.next()
        assert not reader.source.counters.disconnects
        tasks.cancel_scope.cancel()


async def test_a_silent_watch_is_dropped_and_opened_again(store: FaultyStore) -> None:
    async with reading(store, heartbeat=FAST) as reader, anyio.create_task_group() as tasks:
        tasks.start_soon(reader.source.run_heartbeat)
        await reader.next()
        await write(store, put("a"))
        await reader.next()
        store.faults.silence_watches()
        last = await write(store, put("b"))
        assert (await reader.next()).revision == last
        assert reader.source.counters.disconnects["silent"] == 1
        tasks.cancel_scope.cancel()


async def test_without_beats_the_source_is_not_ready(store: FaultyStore) -> None:
    async with reading(store, heartbeat=FAST) as reader, anyio.create_task_group() as tasks:
        await reader.next()
        tasks.start_soon(reader.next)
        await until(lambda: reader.source.state.ready)
        store.faults.unreachable = True
        await until(lambda: reader.source.state.phase is Phase.DISCONNECTED)
        assert reader.source.counters.disconnects["silent"] == 1
        tasks.cancel_scope.cancel()


async def test_the_beat_lies_on_a_lease_and_is_renewed(store: FaultyStore) -> None:
    async with reading(store, heartbeat=FAST) as reader, anyio.create_task_group() as tasks:
        tasks.start_soon(reader.source.run_heartbeat)
        await until(lambda: reader.source.counters.heartbeats_put >= 3)
        (beat,) = (await store.range(FAST.key)).items
        assert beat.lease
        await store.revoke_lease(beat.lease)
        put_so_far = reader.source.counters.heartbeats_put
        await until(lambda: reader.source.counters.heartbeats_put > put_so_far)
        (beat_again,) = (await store.range(FAST.key)).items
        assert beat_again.lease not in (0, beat.lease)
        tasks.cancel_scope.cancel()


async def test_a_beat_that_can_not_be_written_is_logged_once(
    store: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.faults.unreachable = True
    async with reading(store, heartbeat=FAST) as reader, anyio.create_task_group() as tasks:
        tasks.start_soon(reader.source.run_heartbeat)
        await until(lambda: reader.source.counters.heartbeats_failed >= 3)
        tasks.cancel_scope.cancel()
    assert caplog.text.count("can't be written") == 1


async def test_a_process_that_ends_in_order_removes_its_heartbeat(store: FaultyStore) -> None:
    async with reading(store, heartbeat=FAST) as reader, anyio.create_task_group() as tasks:
        tasks.start_soon(reader.source.run_heartbeat)
        await until(lambda: reader.source.counters.heartbeats_put >= 1)
        assert (await store.range(FAST.key)).items
        tasks.cancel_scope.cancel()
    assert not (await store.range(FAST.key)).items
