"""Reads for one draft: each key and range once, in few transactions, remembered with its revision.

Why it exists: a mutation decides by what it reads and then commits under compares of exactly that, so reads and
compares come from one place. Reads are gathered: a batch of a hundred resources costs a few round trips.

What a call in the event loop may read is limited: it raises ``NeedsThread`` then, and ``threads`` makes it again.

State: what one draft has read. ``mutation`` writes.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc.watch.protocol import (
    Compare,
    Get,
    KeyValue,
    RangeResult,
    Relation,
    Store,
    StoreError,
    Target,
    absent,
    prefix_end,
    unchanged,
)

from .errors import from_store

MOST_ON_LOOP = 16 * 1024
"""Bytes of a body, or of what a call reads, that are worked on in the loop: at most some 20 ms of CPU."""
_LISTED = 8
"""Bytes that a list may have in the place of one: it is looked at once, not compared and checked."""
_KEY = 8
"""What an index key counts."""


class NeedsThread(Exception):
    """A call in the event loop has met more than it may work on there. It has done nothing yet."""


class Reading:
    """Remembered reads of a store. ``limit``: operations that one transaction takes. ``most``: bytes to read until
    ``NeedsThread`` is raised; None: any."""

    def __init__(self, store: Store, limit: int, most: int | None = None) -> None:
        self._store = store
        self._limit = limit
        self._most = most
        self._read = 0
        self._items: dict[str, KeyValue | None] = {}
        self._ranges: dict[str, tuple[tuple[KeyValue, ...], int]] = {}
        self.revision = 0
        """The revision of the latest read."""

    async def load(self, keys: Iterable[str]) -> None:
        """Read many keys with as few transactions as the operation limit allows."""
        wanted = [key for key in dict.fromkeys(keys) if key not in self._items]
        for start in range(0, len(wanted), self._limit):
            part = wanted[start : start + self._limit]
            try:
                answer = await self._store.transaction((), [Get(key) for key in part])
            except StoreError as error:
                raise from_store(error, writing=False) from error
            self.revision = answer.revision
            for key, found in zip(part, answer.results, strict=True):
                self._items[key] = found[0] if found else None
            self._count(sum(len(found[0].value) for found in answer.results if found))

    async def item(self, key: str) -> KeyValue | None:
        """One key of the store; None if it is absent."""
        if key not in self._items:
            await self.load([key])
        return self._items[key]

    def known(self, key: str) -> KeyValue | None:
        """The same for a key that is loaded."""
        return self._items[key]

    async def load_below(self, prefixes: Iterable[str]) -> None:
        """Read many ranges with as few transactions as the operation limit allows."""
        wanted = [prefix for prefix in dict.fromkeys(prefixes) if prefix not in self._ranges]
        for start in range(0, len(wanted), self._limit):
            part = wanted[start : start + self._limit]
            try:
                answer = await self._store.transaction((), [Get(prefix, prefix_end(prefix)) for prefix in part])
            except StoreError as error:
                raise from_store(error, writing=False) from error
            self.revision = answer.revision
            for prefix, found in zip(part, answer.results, strict=True):
                self._ranges[prefix] = (found, answer.revision)
                for item in found:
                    self._items.setdefault(item.key, item)
            self._count(_KEY * sum(map(len, answer.results)))

    async def below(self, prefix: str) -> tuple[KeyValue, ...]:
        """All keys with ``prefix``, in order."""
        if prefix not in self._ranges:
            await self.load_below([prefix])
        return self._ranges[prefix][0]

    async def page(self, start: str, end: str, limit: int, revision: int) -> RangeResult:
        """Read a page of a list, which is not remembered. Raises what the store raises."""
        found = await self._store.range(start, end, limit=limit, revision=revision)
        self._count(sum(len(item.value) for item in found.items) // _LISTED)
        return found

    def _count(self, size: int) -> None:
        self._read += size
        if self._most is not None and self._read > self._most:
            raise NeedsThread

    def seen(self, key: str) -> Compare:
        """A compare that holds while ``key`` is as it was read."""
        item = self._items[key]
        return unchanged(key, item.mod_revision) if item else absent(key)

    def seen_below(self, prefix: str) -> Compare:
        """A compare that holds while nothing is added or changed below ``prefix``, which was read."""
        revision = self._ranges[prefix][1]
        return Compare(prefix, Target.MOD_REVISION, Relation.LESS, revision + 1, prefix_end(prefix))
