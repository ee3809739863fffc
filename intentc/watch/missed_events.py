"""Checks that no event was missed: the store's history after a cut, and the world slice by slice meanwhile.

``HistoryCheck``: a store that was restored to an older state and written to since may have passed the last applied
revision; its counter and cluster id look as if nothing had happened. In its history the last write or deletion that we
saw is missing.

``Relist``: etcd has lost events (#18089, #19179), and a lost one would stay lost until the next restart. A slice is
read at exactly the last applied revision, so that every difference is a missed event and not a late one (docs/engine.md
§1.5).
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Iterable
from typing import Protocol

import anyio.to_thread

from intentc.model.events import Batch, Change, Correction, Snapshot
from intentc.watch.keys import Layout
from intentc.watch.protocol import Compacted, RangeResult, Store, prefix_end
from intentc.watch.watch_state import Progress, ResourceKey, SourceCounters


class HistoryCheck:
    """Remembers the last applied write and the last applied deletion."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._written: Change | None = None
        self._deleted: Change | None = None

    def saw(self, item: Snapshot | Batch) -> None:
        """Note that the world was listed, or a revision was applied."""
        if isinstance(item, Snapshot):
            self._written = max(item.changes, key=lambda change: change.mod_revision, default=None)
            self._deleted = None
            return
        for change in item.changes:
            if change.value is None:
                self._deleted = change
                if self._written is not None and _same(change, self._written):
                    self._written = None
            else:
                self._written = change
                if self._deleted is not None and _same(change, self._deleted):
                    self._deleted = None

    async def confirmed(self, store: Store, revision: int) -> bool:
        """Whether the store's history at ``revision``, the last applied one, matches what we remember. Raises
        ``Compacted`` if that history is compacted, and other ``Failure``s."""
        if self._written is not None:
            found = await self._at(store, self._written, revision)
            if found != self._written.mod_revision:
                return False
        if self._deleted is None:
            return True
        if await self._at(store, self._deleted, revision):
            return False
        try:
            # The deleted key existed just before, which an older store that never had it does not know.
            return await self._at(store, self._deleted, self._deleted.mod_revision - 1) > 0
        except Compacted:
            return True

    async def _at(self, store: Store, change: Change, revision: int) -> int:
        """The mod revision of the key at that revision; 0 if it was absent."""
        key = self._layout.key(change.kind, change.uuid)
        items = (await store.range(key, revision=revision, keys_only=True)).items
        return items[0].mod_revision if items else 0


def _same(one: Change, other: Change) -> bool:
    return (one.kind, one.uuid) == (other.kind, other.uuid)


_LOGGER = logging.getLogger(__name__)
_SMALLEST_SLICE = 20
SLICES_IN_A_PASS = 3_600
"""Called each second, it reads the whole world in an hour."""


class Believed(Protocol):
    """What the consumer believes is in the store. All calls are synchronous and cheap."""

    def keys(self) -> Iterable[ResourceKey]:
        """All keys (kind, uuid) that it holds."""
        ...

    def keeps(self, kind: str) -> bool:
        """Whether it holds keys of ``kind`` at all; other kinds are neither compared nor corrected."""
        ...

    def mod_revision(self, kind: str, uuid: str) -> int:
        """The mod revision of the key, as far as known to the consumer; 0 if it holds no such key."""
        ...


class Relist:
    """A pass over all keys under one prefix, and then the next."""

    def __init__(self, store: Store, layout: Layout, progress: Progress, counters: SourceCounters) -> None:
        self._store = store
        self._layout = layout
        self._progress = progress
        self._counters = counters
        self._end = prefix_end(layout.prefix)
        self._cursor = ""
        self._held: list[str] = []

    async def next_slice(self, believed: Believed, limit: int | None) -> Correction | None:
        """Where what the consumer believes differs from the store in the next slice; None if nowhere.

        Raises ``Failure``; the same slice is then read again by the next call.
        """
        progress = self._progress
        if not progress.applied:
            return None
        if not self._cursor:
            self._held = await anyio.to_thread.run_sync(self._sorted, list(believed.keys()))
            self._cursor = self._layout.prefix
        size = limit or max(_SMALLEST_SLICE, len(self._held) // SLICES_IN_A_PASS)
        revision, snapshots, start = progress.applied, progress.snapshots, self._cursor
        with progress.recording() as touched:
            page = await self._store.range(start, self._end, revision=revision, limit=size, keys_only=True)
            end = page.items[-1].key + "\0" if page.more else self._end
            changes = self._differences(page, start, end, revision, believed, touched)
            if changes:
                # Values are read only now: almost no slice has a difference.
                full = await self._store.range(start, end, revision=revision)
                changes = self._differences(full, start, end, revision, believed, touched)
        # Nothing awaits between the last comparison and the caller: the result still holds.
        if progress.snapshots != snapshots:
            return None
        self._cursor = end if page.more else ""
        self._counters.relisted_keys += len(page.items)
        self._counters.relist_passes += not page.more
        if not changes:
            return None
        self._counters.missed_events += len(changes)
        for change in changes:
            _LOGGER.error(
                "missed event: %s is %s at revision %d, but we have it at %d; corrected",
                self._layout.key(change.kind, change.uuid),
                "absent" if change.value is None else f"written at {change.mod_revision}",
                revision,
                believed.mod_revision(change.kind, change.uuid),
            )
        return Correction(revision, tuple(changes))

    def _sorted(self, keys: list[ResourceKey]) -> list[str]:
        return sorted(self._layout.key(*key) for key in keys)

    def _differences(
        self, page: RangeResult, start: str, end: str, revision: int, believed: Believed, touched: set[ResourceKey]
    ) -> list[Change]:
        changes: list[Change] = []
        stored: set[str] = set()
        for item in page.items:
            stored.add(item.key)
            parsed = self._layout.parse(item.key)
            if parsed is None or parsed in touched or not believed.keeps(parsed[0]):
                continue
            if believed.mod_revision(*parsed) == item.mod_revision:
                continue
            changes.append(Change(*parsed, item.value, item.create_revision, item.mod_revision))
        for key in self._held[bisect_left(self._held, start) : bisect_left(self._held, end)]:
            parsed = self._layout.parse(key)
            if key in stored or parsed is None or parsed in touched or not believed.mod_revision(*parsed):
                continue
            changes.append(Change(*parsed, None, 0, revision))
        return changes
