"""The relist finds missed events, and mistakes nothing else for one (docs/engine.md §1.5)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from intentc.model.events import Change, Correction, Snapshot
from intentc.watch.protocol import RangeResult
from tests.support.faulty_store import FaultyStore
from tests.unit.watch.reading import Reader, delete, put, reading, write

pytestmark = pytest.mark.anyio


@pytest.fixture
def store() -> FaultyStore:
    return FaultyStore(max_txn_ops=1_000)


@pytest.fixture
async def reader(store: FaultyStore) -> AsyncIterator[Reader]:
    """A reader that has applied the keys 00 to 19."""
    await write(store, *(put(f"{n:02}") for n in range(20)))
    async with reading(store) as opened:
        await opened.next()
        await settle(store, opened)
        yield opened


async def settle(store: FaultyStore, reader: Reader) -> int:
    """Have the reader apply what it received, by requesting one more item; return its revision."""
    revision = await write(store, put("settled"))
    while (await reader.next()).revision < revision:
        pass
    return revision


async def whole_pass(reader: Reader, limit: int | None = None) -> list[Correction]:
    found = []
    passes = reader.source.counters.relist_passes
    while reader.source.counters.relist_passes == passes:
        correction = await reader.source.relist_slice(reader, limit)
        if correction is not None:
            reader.apply(correction)
            found.append(correction)
    return found


async def test_a_true_view_needs_no_correction(reader: Reader) -> None:
    assert await whole_pass(reader, limit=7) == []
    assert reader.source.counters.relisted_keys == 20
    assert reader.source.counters.missed_events == 0


async def test_a_missed_put_is_found_and_delivered(store: FaultyStore, reader: Reader) -> None:
    store.faults.lose_next()
    missed = await write(store, put("07", b"missed"))
    await settle(store, reader)
    now = await settle(store, reader)
    (correction,) = await whole_pass(reader, limit=5)
    assert correction.changes == (Change("network", "07", b"missed", 2, missed),)
    assert missed < correction.revision < now
    assert reader.source.counters.missed_events == 1
    assert await whole_pass(reader) == []


async def test_a_missed_delete_is_found_and_delivered(
    store: FaultyStore, reader: Reader, caplog: pytest.LogCaptureFixture
) -> None:
    store.faults.lose_next()
    await write(store, delete("19"))
    await settle(store, reader)
    await settle(store, reader)
    (correction,) = await whole_pass(reader, limit=5)
    assert [(change.uuid, change.value) for change in correction.changes] == [("19", None)]
    assert ("network", "19") not in reader.view
    assert "missed event: /contrail/network/19 is absent" in caplog.text


async def test_a_missed_creation_is_found(store: FaultyStore, reader: Reader) -> None:
    store.faults.lose_next()
    await write(store, put("new"))
    await settle(store, reader)
    await settle(store, reader)
    (correction,) = await whole_pass(reader)
    assert [change.uuid for change in correction.changes] == ["new"]


async def test_keys_of_kinds_that_the_view_does_not_keep_are_no_missed_events(
    store: FaultyStore, reader: Reader, caplog: pytest.LogCaptureFixture
) -> None:
    await write(store, put("x", kind="unheard_of"))
    await settle(store, reader)
    await settle(store, reader)
    assert await whole_pass(reader) == []
    assert reader.source.counters.missed_events == 0
    assert "missed event" not in caplog.text


async def test_what_is_still_on_its_way_is_no_missed_event(store: FaultyStore, reader: Reader) -> None:
    await write(store, put("03", b"later"), delete("04"), put("new"))
    assert await whole_pass(reader) == []


class DeliversMeanwhile(FaultyStore):
    """Lets the reader take its next item, or ``items``, while a relist's range is on its way back."""

    reader: Reader | None = None
    items = 1

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
        page = await super().range(
            key,
            range_end,
            revision=revision,
            limit=limit,
            keys_only=keys_only,
            min_mod_revision=min_mod_revision,
        )
        if self.reader is not None:
            reader, self.reader = self.reader, None
            for _ in range(self.items):
                await reader.next()
        return page


async def test_what_is_applied_while_the_slice_is_read_is_no_missed_event() -> None:
    store = DeliversMeanwhile(max_txn_ops=1_000)
    await write(store, *(put(f"{n:02}") for n in range(20)))
    async with reading(store) as reader:
        await reader.next()
        await settle(store, reader)
        await write(store, put("03", b"later"), delete("04"))
        store.reader = reader
        assert await reader.source.relist_slice(reader) is None
        assert ("network", "04") not in reader.view


async def test_on_a_busy_store_its_result_is_older_than_the_readers_revision() -> None:
    store = DeliversMeanwhile(max_txn_ops=1_000)
    await write(store, *(put(f"{n:02}") for n in range(20)))
    async with reading(store) as reader:
        await reader.next()
        await settle(store, reader)
        store.faults.lose_next()
        await write(store, delete("07"))
        await settle(store, reader)
        await settle(store, reader)
        for later in ("a", "b", "c"):
            await write(store, put(later))
        store.reader, store.items = reader, 3
        correction = await reader.source.relist_slice(reader)
        assert correction is not None
        assert [(change.uuid, change.value) for change in correction.changes] == [("07", None)]
        assert correction.revision < reader.source.applied_revision


async def test_before_the_first_snapshot_nothing_is_relisted(store: FaultyStore) -> None:
    async with reading(store) as reader:
        assert await reader.source.relist_slice(reader) is None


async def test_if_the_applied_revision_is_compacted_the_world_is_listed(store: FaultyStore, reader: Reader) -> None:
    await store.compact(await write(store, put("20"), put("21")))
    assert await reader.source.relist_slice(reader) is None
    assert isinstance(await reader.next(), Snapshot)
    assert reader.source.counters.lists["relist"] == 1


async def test_an_unreachable_store_defers_the_slice(store: FaultyStore, reader: Reader) -> None:
    store.faults.unreachable = True
    assert await reader.source.relist_slice(reader) is None
    store.faults.unreachable = False
    assert await whole_pass(reader) == []
    assert reader.source.counters.relisted_keys == 20


async def test_while_there_is_no_watch_nothing_is_compared_and_the_store_is_not_asked(
    store: FaultyStore, reader: Reader
) -> None:
    """What happens meanwhile is no missed event, and what is compacted meanwhile is for the watch to find."""
    store.faults.unreachable = True
    store.faults.cut_watches()
    assert await reader.nothing_comes()
    assert not reader.source.state.ready
    store.faults.unreachable = False
    await store.compact(await write(store, delete("03")))
    assert await reader.source.relist_slice(reader) is None
    assert reader.source.counters.missed_events == 0
    assert reader.source.counters.relisted_keys == 0
    assert not reader.source.counters.lists["relist"]
