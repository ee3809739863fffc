"""A memory store made from the state of another: with its keys and their revisions, and no history."""

from __future__ import annotations

import pytest

from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Compacted, Compare, KeyValue, Put, Relation, Target

pytestmark = pytest.mark.anyio

ITEMS = [KeyValue("/b", b"2", 5, 7, 2), KeyValue("/a", b"1", 3, 3)]


async def test_keys_stand_at_the_revisions_that_they_had() -> None:
    found = await MemoryStore.holding(ITEMS, 20).range("/", "0")
    assert (list(found.items), found.revision) == ([ITEMS[1], ITEMS[0]], 20)


async def test_the_next_write_makes_the_next_revision_and_compares_with_the_former_ones() -> None:
    store = MemoryStore.holding(ITEMS, 20)
    stale, right = (Compare("/b", Target.MOD_REVISION, Relation.EQUAL, revision) for revision in (5, 7))
    assert not (await store.transaction([stale], [Put("/b", b"3")])).succeeded
    assert (await store.transaction([right], [Put("/b", b"3")])).revision == 21
    (now,) = (await store.range("/b")).items
    assert (now.value, now.create_revision, now.mod_revision, now.version) == (b"3", 5, 21, 3)
    assert [batch.revision for batch in store.batches("/", 20)] == [21]
    (before,) = (await store.range("/b", revision=20)).items
    assert before == ITEMS[0]


async def test_what_was_before_is_not_known() -> None:
    with pytest.raises(Compacted):
        await MemoryStore.holding(ITEMS, 20).range("/b", revision=19)
