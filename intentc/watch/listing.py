"""Reads all resources under a prefix at one revision, page by page.

Pages read at different revisions could show a reference without its target, or a deleted key. If etcd compacts the
revision between two pages, the list starts again at a new one, unless the caller named the revision.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

import anyio.lowlevel

from intentc import crashpoints
from intentc.model.events import Change, Snapshot
from intentc.watch.keys import Layout
from intentc.watch.protocol import Compacted, KeyValue, RangeResult, Store, prefix_end

_FIRST_PAGE_KEYS = 500
_ATTEMPTS = 5
_KEYS_BETWEEN_CHECKPOINTS = 250


class PageLimits(NamedTuple):
    """The most keys of a page, and about how many bytes: a page's size follows the weight of the last page."""

    keys: int = 5_000
    bytes: int = 4 * 1024 * 1024

    def next_size(self, page: RangeResult) -> int:
        """The number of keys to request after ``page``."""
        weight = sum(len(item.key) + len(item.value) for item in page.items)
        average = weight / len(page.items) if page.items else 1
        return max(1, min(self.keys, int(self.bytes / max(average, 1))))


DEFAULT_PAGES = PageLimits()


class Listing(NamedTuple):
    """Everything that exists, and the cluster that answered."""

    snapshot: Snapshot
    cluster_id: int


async def list_all(
    store: Store,
    layout: Layout,
    foreign: Callable[[str], None] = lambda key: None,
    limits: PageLimits = DEFAULT_PAGES,
    *,
    revision: int = 0,
    on_page: Callable[[int, int], None] = lambda read, count: None,
) -> Listing:
    """List all resources at one revision: now, or at ``revision``. ``foreign`` is called with each key of another form,
    ``on_page`` with the number of keys read so far, and of all keys. Raises ``Failure``; ``Compacted`` if compaction
    overtook five lists, or if ``revision`` is compacted."""
    for attempt in range(_ATTEMPTS):
        try:
            return await _list_once(store, layout, foreign, limits, revision, on_page)
        except Compacted:
            if revision or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


async def _list_once(
    store: Store,
    layout: Layout,
    foreign: Callable[[str], None],
    limits: PageLimits,
    revision: int,
    on_page: Callable[[int, int], None],
) -> Listing:
    end = prefix_end(layout.prefix)
    page = await store.range(layout.prefix, end, revision=revision, limit=min(limits.keys, _FIRST_PAGE_KEYS))
    revision, cluster_id = revision or page.revision, page.cluster_id
    changes: list[Change] = []
    read, count = 0, page.count
    while True:
        for first in range(0, len(page.items), _KEYS_BETWEEN_CHECKPOINTS):
            for item in page.items[first : first + _KEYS_BETWEEN_CHECKPOINTS]:
                change = layout.change(item, foreign)
                if change is not None:
                    changes.append(change)
            await anyio.lowlevel.checkpoint()
        read += len(page.items)
        on_page(read, count)
        crashpoints.reach("list.page")
        if not page.more:
            return Listing(Snapshot(revision, tuple(changes)), cluster_id)
        after = page.items[-1].key + "\0"
        page = await store.range(after, end, revision=revision, limit=limits.next_size(page))


async def items_below(
    store: Store, prefix: str, *, revision: int = 0, keys_only: bool = False
) -> AsyncIterator[KeyValue]:
    """Yield all keys with ``prefix`` in order, read page by page: at ``revision``, or each page as of now. Other tasks
    run in between."""
    start, limit, more = prefix, _FIRST_PAGE_KEYS, True
    while more:
        page = await store.range(start, prefix_end(prefix), revision=revision, limit=limit, keys_only=keys_only)
        for count, item in enumerate(page.items):
            if count % _KEYS_BETWEEN_CHECKPOINTS == 0:
                await anyio.lowlevel.checkpoint()
            yield item
        more = page.more and bool(page.items)
        start = page.items[-1].key + "\0" if page.items else start
        limit = DEFAULT_PAGES.next_size(page)
