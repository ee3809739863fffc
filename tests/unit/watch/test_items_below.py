"""``items_below``: every key of a prefix once, also over several pages, as of one revision if it is given."""

from __future__ import annotations

import pytest

from intentc.watch.listing import items_below
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Delete, Put

pytestmark = pytest.mark.anyio

KEYS = [f"/a/{number:04}" for number in range(2_050)]


async def filled() -> MemoryStore:
    store = MemoryStore(max_txn_ops=10_000)
    await store.transaction([], [Put(key, b"value") for key in (*KEYS, "/b/other")])
    return store


async def test_all_pages_are_read_in_order_and_no_other_prefix() -> None:
    found = [item async for item in items_below(await filled(), "/a/")]
    assert [item.key for item in found] == KEYS
    assert {item.value for item in found} == {b"value"}


async def test_a_revision_is_that_of_every_page() -> None:
    store = await filled()
    before = (await store.range("/")).revision
    await store.transaction([], [Delete("/a/", "/a0")])
    found = [item async for item in items_below(store, "/a/", revision=before, keys_only=True)]
    assert [item.key for item in found] == KEYS
    assert {item.value for item in found} == {b""}
    assert [item async for item in items_below(store, "/a/")] == []
