"""The source over the memory store: list, watch, and what it does about gaps (docs/engine.md §1.1 to §1.3)."""

from __future__ import annotations

import logging

import anyio
import pytest

from intentc.model.events import Batch, Change, Snapshot
from intentc.reconcile.failures import Denied, Failure
from intentc.watch.keys import Layout
from intentc.watch.listing import PageLimits
from intentc.watch.protocol import Put, RangeResult
from intentc.watch.source import Source
from intentc.watch.watch_state import Phase
from tests.support.faulty_store import FaultyStore
from tests.unit.watch.reading import PREFIX, delete, put, reading, write

pytestmark = pytest.mark.anyio


class ObservedStore(FaultyStore):
    """Records ranges, and compacts between two pages on request."""

    def __init__(self) -> None:
        super().__init__(max_txn_ops=1_000)
        self.pages: list[RangeResult] = []
        self.asked: list[tuple[int, int]] = []
        self.compact_before_page = 0

    async def range(
        self,
        key: str,
        range_end: str = "",
        *,
        revision: int = 0,
        limit: int = 0,
        keys_only: bool = False,
        min_mod_revision: int = 0,
    ) -> RangeResult:
        if self.compact_before_page and len(self.asked) + 1 == self.compact_before_page:
            await self.compact(await write(self, put("late")))
        self.asked.append((revision, limit))
        page = await super().range(
            key,
            range_end,
            revision=revision,
            limit=limit,
            keys_only=keys_only,
            min_mod_revision=min_mod_revision,
        )
        self.pages.append(page)
        return page


@pytest.fixture
def store() -> ObservedStore:
    return ObservedStore()


async def test_the_world_comes_first_then_each_revision(store: ObservedStore) -> None:
    first = await write(store, put("a", b"1"), put("b", b"2"))
    async with reading(store) as reader:
        assert await reader.next() == Snapshot(
            first, (Change("network", "a", b"1", first, first), Change("network", "b", b"2", first, first))
        )
        second = await write(store, put("a", b"3"), delete("b"))
        assert await reader.next() == Batch(
            second, (Change("network", "a", b"3", first, second), Change("network", "b", None, 0, second))
        )


async def test_an_empty_world_is_a_snapshot_too(store: ObservedStore) -> None:
    async with reading(store) as reader:
        assert await reader.next() == Snapshot(1, ())


async def test_pages_are_read_at_one_revision(store: ObservedStore) -> None:
    revision = await write(store, *(put(f"{n:03}") for n in range(25)))
    async with reading(store, pages=PageLimits(keys=10)) as reader:
        snapshot = await reader.next()
    assert len(snapshot.changes) == 25
    assert store.asked == [(0, 10), (revision, 10), (revision, 10)]


async def test_pages_of_heavy_values_hold_fewer_keys(store: ObservedStore) -> None:
    await write(store, *(put(f"{n:03}", bytes(1_000)) for n in range(25)))
    async with reading(store, pages=PageLimits(keys=10, bytes=5_200)) as reader:
        assert len((await reader.next()).changes) == 25
    assert [len(page.items) for page in store.pages] == [10, 5, 5, 5]


async def test_what_happens_between_pages_comes_as_batches(store: ObservedStore) -> None:
    await write(store, *(put(f"{n:03}") for n in range(25)))
    async with reading(store, pages=PageLimits(keys=10)) as reader, anyio.create_task_group() as tasks:
        tasks.start_soon(write, store, put("late"))
        snapshot = await reader.next()
        batch = await reader.next()
    assert "late" not in {change.uuid for change in snapshot.changes}
    assert [change.uuid for change in batch.changes] == ["late"]


async def test_compacted_between_pages_lists_again_from_a_new_revision(store: ObservedStore) -> None:
    await write(store, *(put(f"{n:03}") for n in range(25)))
    store.compact_before_page = 2
    async with reading(store, pages=PageLimits(keys=10)) as reader:
        snapshot = await reader.next()
    assert len(snapshot.changes) == 26
    assert len({revision for revision, _ in store.asked if revision}) == 2


async def test_a_batch_that_comes_twice_is_dropped_whole(store: ObservedStore) -> None:
    await write(store, put("a"))
    async with reading(store) as reader:
        await reader.next()
        await write(store, put("b"))
        await reader.next()
        await write(store, delete("b"))
        await reader.next()
        store.faults.replay(10)
        last = await write(store, put("c"))
        assert (await reader.next()).revision == last
        assert ("network", "b") not in reader.view
        assert reader.source.counters.duplicates >= 2


async def test_after_a_cut_the_watch_resumes_after_the_last_applied_revision(store: ObservedStore) -> None:
    await write(store, put("a"))
    async with reading(store) as reader:
        await reader.next()
        revisions = [await write(store, put("a", b"%d" % n)) for n in range(3)]
        found = [(await reader.next()).revision]
        store.faults.cut_watches()
        revisions.append(await write(store, put("b")))
        found += [(await reader.next()).revision for _ in range(3)]
        assert found == revisions
        assert dict(reader.source.counters.lists) == {"first": 1}


async def test_an_item_counts_as_applied_when_the_next_is_asked_for(store: ObservedStore) -> None:
    async with reading(store) as reader:
        await reader.next()
        assert reader.source.applied_revision == 0
        first = await write(store, put("a"))
        await reader.next()
        assert reader.source.applied_revision == 1
        await write(store, put("b"))
        await reader.next()
        assert reader.source.applied_revision == first


async def test_compacted_while_away_the_world_is_listed_and_the_delete_shows(store: ObservedStore) -> None:
    await write(store, put("a"), put("b"))
    async with reading(store) as reader:
        await reader.next()
        await write(store, put("b"))
        await reader.next()
        store.faults.cut_watches()
        await write(store, delete("a"))
        await store.compact(await write(store, put("c")))
        snapshot = await reader.next()
        assert isinstance(snapshot, Snapshot)
        assert reader.view.keys() == {("network", "b"), ("network", "c")}
        assert reader.source.counters.disconnects["compacted"] == 1
        assert reader.source.counters.lists["compacted"] == 1


async def test_a_long_gap_is_listed_and_not_replayed(store: ObservedStore) -> None:
    async with reading(store, gap_limit=5) as reader:
        await reader.next()
        await write(store, put("a"))
        await reader.next()
        for n in range(10):
            last = await write(store, put("a", b"%d" % n))
        store.faults.cut_watches()
        item = await reader.next()
        assert isinstance(item, Snapshot)
        assert item.revision == last
        assert reader.source.counters.lists["gap"] == 1


async def test_another_cluster_is_listed(store: ObservedStore) -> None:
    async with reading(store) as reader:
        await reader.next()
        await write(store, put("a"))
        await reader.next()
        store.cluster_id = 2
        store.faults.cut_watches()
        assert isinstance(await reader.next(), Snapshot)
        assert reader.source.counters.lists["cluster changed"] == 1


async def test_a_store_restored_from_a_backup_is_listed(store: ObservedStore, caplog: pytest.LogCaptureFixture) -> None:
    await write(store, put("a"))
    restore = store.faults.backup()
    async with reading(store) as reader:
        await reader.next()
        await write(store, put("b"))
        await reader.next()
        await write(store, put("c"))
        await reader.next()
        restore()
        assert isinstance(await reader.next(), Snapshot)
        assert reader.view.keys() == {("network", "a")}
        assert reader.source.counters.lists["revision went back"] == 1
    assert "restored from an older state" in caplog.text


async def test_a_requested_relist_comes_with_the_next_sign_of_life(store: ObservedStore) -> None:
    async with reading(store) as reader:
        await reader.next()
        reader.source.request_listing("asked")
        await write(store, put("a"))
        assert isinstance(await reader.next(), Snapshot)
        assert reader.source.counters.lists["asked"] == 1


async def test_keys_of_another_form_are_reported_once_and_passed_over(
    store: ObservedStore, caplog: pytest.LogCaptureFixture
) -> None:
    await write(store, put("a"), Put(PREFIX + "network", b""), Put(PREFIX + "other", b""))
    async with reading(store) as reader:
        assert [change.uuid for change in (await reader.next()).changes] == ["a"]
        await write(store, Put(PREFIX + "network", b"again"))
        last = await write(store, put("b"))
        assert (await reader.next()).revision == last
        assert reader.source.counters.foreign_keys == 2
    assert caplog.text.count("is not of the form") == 2


async def test_a_key_that_no_uuid_ends_is_delivered_under_printable_text_that_leads_back(store: ObservedStore) -> None:
    odd = {"\udcff\udcfe": "%FF%FE", "a/deeper": "a%2Fdeeper", "100%": "100%25", "a b": "a%20b"}
    await write(store, *(Put(f"{PREFIX}network/{name}", b"1") for name in odd))
    async with reading(store) as reader:
        assert {change.uuid for change in (await reader.next()).changes} == set(odd.values())
    layout = Layout.of(PREFIX)
    assert {layout.key("network", text) for text in odd.values()} == {f"{PREFIX}network/{name}" for name in odd}


async def test_a_prefix_without_its_slash_is_rejected(store: ObservedStore) -> None:
    with pytest.raises(ValueError, match="must end in '/'"):
        Source(store, "/contrail")


async def test_the_state_shows_what_it_is_doing_and_why_not(store: ObservedStore) -> None:
    async with reading(store) as reader:
        source = reader.source
        phases = [source.state.phase]
        await reader.next()
        phases.append(source.state.phase)
        await write(store, put("a"))
        await reader.next()
        phases.append(source.state.phase)
        assert phases == [Phase.DISCONNECTED, Phase.LISTING, Phase.WATCHING]
        store.faults.unreachable = True
        store.faults.cut_watches(Denied("role was taken away"))
        assert await reader.nothing_comes()
        assert source.state.phase is Phase.DISCONNECTED
        assert "unreachable" in source.state.last_error
        assert source.counters.disconnects["access denied"] == 1
        assert source.counters.disconnects["unavailable"] >= 1


async def test_errors_of_the_store_are_waited_out_and_logged_once(
    store: ObservedStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    store.faults.unreachable = True
    async with reading(store) as reader, anyio.create_task_group() as tasks:

        async def heal() -> None:
            while reader.source.counters.disconnects["unavailable"] < 3:
                await anyio.lowlevel.checkpoint()
            store.faults.unreachable = False

        tasks.start_soon(heal)
        assert isinstance(await reader.next(), Snapshot)
    assert len(caplog.records) == 1


async def test_a_cancelled_watch_is_opened_again(store: ObservedStore, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with reading(store) as reader:
        await reader.next()
        await write(store, put("a"))
        await reader.next()
        store.faults.cut_watches(Failure("the server ended the watch"))
        last = await write(store, put("b"))
        assert (await reader.next()).revision == last
    assert "the server ended the watch" in caplog.text
