"""Checks by its history whether a store is the one that we have watched.

Why it exists: a store that was restored to an older state and written to since may have passed the last applied
revision; then its counter and cluster id look as if nothing had happened. Its history shows the restore: the last write
or deletion that we saw is missing. ``source`` decides what follows.

State: one key that was written, and one that was deleted, with their revisions.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc.model.events import Change
from intentc.watch.keys import Layout
from intentc.watch.protocol import Compacted, Store


class HistoryCheck:
    """Remembers the last applied write and the last applied deletion."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._written: Change | None = None
        self._deleted: Change | None = None

    def saw_all(self, changes: Iterable[Change]) -> None:
        """Note that the world was listed."""
        self._written = max(changes, key=lambda change: change.mod_revision, default=None)
        self._deleted = None

    def saw(self, changes: Iterable[Change]) -> None:
        """Note that a revision was applied."""
        for change in changes:
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
        ``Compacted`` if that history is compacted, and other ``StoreError``s."""
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
