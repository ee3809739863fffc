"""Keys with their history: the multi-version map under the memory store.

A listing reads many pages at one revision, and the relist reads at the last applied one, so a store with only the
present state could not replace etcd.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence

from intentc.watch.protocol import Compacted, Compare, FutureRevision, KeyValue, Relation, Target, WatchEvent

_ABSENT = KeyValue("", b"", 0, 0, 0)


class History:
    """All versions of all keys since the last compaction. A new history starts at revision 1, as etcd does."""

    def __init__(self) -> None:
        self.revision = 1
        self.compacted = 0
        self._keys: list[str] = []
        self._versions: dict[str, list[KeyValue]] = {}
        # One entry per revision: etcd's counter advances only with a write.
        self._log: list[tuple[WatchEvent, ...]] = []
        self._log_start = 2

    @classmethod
    def of(cls, items: Iterable[KeyValue], revision: int) -> History:
        """A history of only ``items`` at ``revision``, which is also its oldest revision."""
        history = cls()
        history._versions = {item.key: [item] for item in items}
        history._keys = sorted(history._versions)
        history.revision = history.compacted = revision
        history._log_start = revision + 1
        return history

    def range(
        self, key: str, range_end: str, revision: int, limit: int, keys_only: bool, min_mod_revision: int
    ) -> tuple[tuple[KeyValue, ...], bool, int]:
        """Items, whether a limit cut them, and the count of all keys in the range, at ``revision`` (0: now)."""
        if revision > self.revision:
            raise FutureRevision("memory Range: required revision is a future revision")
        if revision and revision < self.compacted:
            raise Compacted()
        items: list[KeyValue] = []
        count = 0
        more = False
        for item in self._live(key, range_end, revision):
            count += 1
            if item.mod_revision < min_mod_revision:
                continue
            if limit and len(items) == limit:
                more = True
            else:
                items.append(item._replace(value=b"") if keys_only else item)
        return tuple(items), more, count

    def holds(self, compare: Compare) -> bool:
        """Whether a compare holds now."""
        if compare.range_end:
            return all(_holds(compare, item) for item in self._live(compare.key, compare.range_end, 0))
        return _holds(compare, self._now(compare.key))

    def put(self, key: str, value: bytes, lease: int, revision: int) -> WatchEvent:
        """Write a key at ``revision``; return the event."""
        before = self._now(key)
        item = KeyValue(key, value, before.create_revision or revision, revision, before.version + 1, lease)
        if key not in self._versions:
            self._versions[key] = []
            insort(self._keys, key)
        self._versions[key].append(item)
        return WatchEvent(item, False)

    def delete(self, key: str, range_end: str, revision: int) -> list[WatchEvent]:
        """Delete the keys of a range at ``revision``; return the events, in key order."""
        events = []
        for deleted in list(self._live(key, range_end, 0)):
            tombstone = KeyValue(deleted.key, b"", 0, revision, 0)
            self._versions[deleted.key].append(tombstone)
            events.append(WatchEvent(tombstone, True))
        return events

    def commit(self, events: Sequence[WatchEvent]) -> None:
        """Complete the revision of what was written at ``revision + 1``."""
        self.revision += 1
        self._log.append(tuple(events))

    def events_at(self, revision: int) -> tuple[WatchEvent, ...] | None:
        """The events of one revision; None if it does not exist yet. Raises ``Compacted``."""
        if revision < self.compacted:
            raise Compacted(self.compacted)
        position = revision - self._log_start
        if position < 0:
            return ()
        return self._log[position] if position < len(self._log) else None

    def compact(self, revision: int) -> None:
        """Drop what was superseded before ``revision``, and tombstones up to it. Raises as etcd does."""
        if revision <= self.compacted:
            raise Compacted(self.compacted)
        if revision > self.revision:
            raise FutureRevision("memory Compact: required revision is a future revision")
        self.compacted = revision
        for key, versions in list(self._versions.items()):
            keep = max(0, bisect_right(versions, revision, key=_mod_revision) - 1)
            if versions[keep].version == 0 and versions[keep].mod_revision <= revision:
                keep += 1
            del versions[:keep]
            if not versions:
                del self._versions[key]
        self._keys = sorted(self._versions)
        log_start = max(revision, self._log_start)
        del self._log[: log_start - self._log_start]
        self._log_start = log_start
        if self._log and self._log_start == revision:
            # etcd drops a tombstone of the compaction revision itself: a watch from there does not see it.
            self._log[0] = tuple(event for event in self._log[0] if not event.deleted)

    def _live(self, key: str, range_end: str, revision: int) -> Iterator[KeyValue]:
        if not range_end:
            names = [key]
        else:
            first = bisect_left(self._keys, key)
            names = self._keys[first : None if range_end == "\0" else bisect_left(self._keys, range_end)]
        for name in names:
            item = self._at(name, revision) if revision else self._now(name)
            if item.version:
                yield item

    def _now(self, key: str) -> KeyValue:
        versions = self._versions.get(key)
        return versions[-1] if versions else _ABSENT

    def _at(self, key: str, revision: int) -> KeyValue:
        versions = self._versions.get(key, [])
        position = bisect_right(versions, revision, key=_mod_revision)
        return versions[position - 1] if position else _ABSENT


def _mod_revision(item: KeyValue) -> int:
    return item.mod_revision


def _holds(compare: Compare, item: KeyValue) -> bool:
    actual = {
        Target.VERSION: item.version,
        Target.CREATE_REVISION: item.create_revision,
        Target.MOD_REVISION: item.mod_revision if item.version else 0,
    }[compare.target]
    match compare.relation:
        case Relation.EQUAL:
            return actual == compare.number
        case Relation.GREATER:
            return actual > compare.number
        case Relation.LESS:
            return actual < compare.number
        case Relation.NOT_EQUAL:
            return actual != compare.number
