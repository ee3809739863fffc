"""A store in this process that behaves like etcd, for tests, the offline compile and plans.

It passes the same conformance suite as etcd (``tests/integration/watch``), and promises no more than etcd does. It
keeps the history of its keys: a listing reads many pages at one revision, the relist reads at the last applied one.
``tests/support/faulty_store.py`` adds the faults of networks and old servers.
"""

from __future__ import annotations

import itertools
import time
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import ClassVar, Self

import anyio
import anyio.lowlevel

from intentc.reconcile.failures import Failure, Unavailable
from intentc.watch.protocol import (
    Compacted,
    Compare,
    Delete,
    FutureRevision,
    Get,
    KeyValue,
    LeaseNotFound,
    Operation,
    Put,
    RangeResult,
    Relation,
    Target,
    TooManyOperations,
    TransactionResult,
    WatchBatch,
    WatchEvent,
    WatchProgress,
)

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

    def batches_at(self, revision: int, prefixes: Iterable[str]) -> list[WatchBatch] | None:
        """What watches of ``prefixes`` get of a revision; None if it does not exist yet. Raises ``Compacted``."""
        if revision < self.compacted:
            raise Compacted(self.compacted)
        if revision > self.revision:
            return None
        events = self._log[revision - self._log_start] if revision >= self._log_start else ()
        of_prefix = ((tuple([event for event in events if event.item.key.startswith(one)]), one) for one in prefixes)
        return [WatchBatch(revision, found, prefix) for found, prefix in of_prefix if found]

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
    actual = item.create_revision
    if compare.target is Target.MOD_REVISION:
        actual = item.mod_revision if item.version else 0
    match compare.relation:
        case Relation.EQUAL:
            return actual == compare.number
        case Relation.GREATER:
            return actual > compare.number
        case Relation.LESS:
            return actual < compare.number


class MemoryWatch:
    """``Watch`` in memory."""

    def __init__(
        self,
        cluster_id: int,
        history: History,
        prefixes: tuple[str, ...],
        start_revision: int,
        patience: Callable[[], float | None],
        on_timeout: Callable[[], None],
    ) -> None:
        self._cluster_id = cluster_id
        self._history = history
        self._prefixes = prefixes
        self._next = start_revision
        self._patience = patience
        self._on_timeout = on_timeout
        self._ready: deque[WatchBatch | WatchProgress] = deque()
        self._changed = anyio.Event()
        self._error: Failure | None = None

    @property
    def cluster_id(self) -> int:
        """The id of the store's cluster when the watch was opened."""
        return self._cluster_id

    def wake(self) -> None:
        """Note that the history may have grown."""
        self._changed.set()

    def end(self, error: Failure) -> None:
        """Raise ``error`` now; what is not yet delivered is lost with the watch."""
        self._error = self._error or error
        self.wake()

    def __aiter__(self) -> MemoryWatch:
        return self

    async def __anext__(self) -> WatchBatch | WatchProgress:
        await anyio.lowlevel.checkpoint()
        while True:
            item = self._take()
            if item is not None:
                return item
            self._changed = anyio.Event()
            with anyio.move_on_after(self._patience()) as scope:
                await self._changed.wait()
            if scope.cancelled_caught:
                self._on_timeout()

    def _take(self) -> WatchBatch | WatchProgress | None:
        """The next item; None if there is none yet. Raises the error that ends the watch."""
        if self._error is not None:
            raise self._error
        while not self._ready:
            batches = self._batches(self._next)
            if batches is None:
                return None
            self._ready.extend(batches)
            self._next += 1
        return self._ready.popleft()

    def _batches(self, revision: int) -> list[WatchBatch] | None:
        """What to deliver of a revision; None if it does not exist yet."""
        return self._history.batches_at(revision, self._prefixes)


class MemoryStore:
    """``Store`` in memory.

    ``max_txn_ops``: as etcd's. ``clock``: seconds, for leases; expiry is checked on every call and while a watch waits,
    or when a test calls ``expire_leases``.
    """

    watch_class: ClassVar[type[MemoryWatch]] = MemoryWatch

    def __init__(self, *, max_txn_ops: int = 128, clock: Callable[[], float] = time.monotonic) -> None:
        self.cluster_id = 1
        self._max_txn_ops = max_txn_ops
        self._clock = clock
        self._history = History()
        self._leases: dict[int, _Lease] = {}
        self._lease_ids = itertools.count(1)
        # Ordered, so that the same test always wakes the same watch first.
        self._watches: dict[MemoryWatch, None] = {}
        self._closed = False

    @classmethod
    def holding(
        cls,
        items: Iterable[KeyValue],
        revision: int,
        *,
        max_txn_ops: int = 128,
        clock: Callable[[], float] = time.monotonic,
    ) -> Self:
        """A store as another one was at ``revision``: with these keys and their revisions, and no history."""
        store = cls(max_txn_ops=max_txn_ops, clock=clock)
        store._history = History.of(items, revision)
        return store

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
        await self._enter("Range")
        items, more, count = self._history.range(key, range_end, revision, limit, keys_only, min_mod_revision)
        return RangeResult(items, more, count, self._history.revision, self.cluster_id)

    async def transaction(
        self, compares: Sequence[Compare], success: Sequence[Operation], failure: Sequence[Operation] = ()
    ) -> TransactionResult:
        await self._enter("Txn")
        if max(len(compares), len(success), len(failure)) > self._max_txn_ops:
            raise TooManyOperations(f"memory Txn: too many operations in txn request (at most {self._max_txn_ops})")
        for branch in (success, failure):
            _reject_overlaps(branch)
        succeeded = all(self._history.holds(compare) for compare in compares)
        operations = success if succeeded else failure
        for operation in operations:
            if isinstance(operation, Put) and operation.lease and operation.lease not in self._leases:
                raise LeaseNotFound("memory Txn: requested lease not found")
        results = self._apply(operations)
        return TransactionResult(succeeded, self._history.revision, results)

    @asynccontextmanager
    async def watch(self, prefixes: Sequence[str], start_revision: int) -> AsyncIterator[MemoryWatch]:
        if start_revision < 1:
            raise ValueError("a watch starts at a revision, never at 0 ('from now'): that would lose events")
        await self._enter("Watch")
        watch = self.watch_class(
            self.cluster_id, self._history, tuple(prefixes), start_revision, self._seconds_to_expiry, self.expire_leases
        )
        self._watches[watch] = None
        try:
            yield watch
        finally:
            self._watches.pop(watch, None)

    def batches(self, prefix: str, after: int) -> list[WatchBatch]:
        """What a watch of ``prefix`` from ``after + 1`` would have delivered until now. Raises ``Compacted``."""
        revisions = range(after + 1, self._history.revision + 1)
        return [batch for one in revisions for batch in self._history.batches_at(one, (prefix,)) or ()]

    async def grant_lease(self, ttl: int) -> int:
        await self._enter("LeaseGrant")
        lease = next(self._lease_ids)
        self._leases[lease] = _Lease(ttl, self._clock() + ttl)
        return lease

    async def keep_lease_alive(self, lease: int) -> int:
        await self._enter("LeaseKeepAlive")
        found = self._leases.get(lease)
        if found is None:
            return 0
        found.expires = self._clock() + found.ttl
        return found.ttl

    async def revoke_lease(self, lease: int) -> None:
        """See ``Store.revoke_lease``. Raises ``LeaseNotFound`` if there is no such lease."""
        await self._enter("LeaseRevoke")
        if lease not in self._leases:
            raise LeaseNotFound("memory LeaseRevoke: requested lease not found")
        self._end_lease(lease)

    async def compact(self, revision: int) -> None:
        await self._enter("Compact")
        self._history.compact(revision)
        self._wake()

    async def close(self) -> None:
        self._closed = True
        self._cut(Unavailable("memory Watch: the store is closed"))

    def expire_leases(self) -> None:
        """Drop expired leases, with their keys."""
        now = self._clock()
        for lease in [lease for lease, state in self._leases.items() if state.expires <= now]:
            self._end_lease(lease)

    async def _enter(self, call: str) -> None:
        # A real call always lets other tasks run, and is where a cancelled task ends.
        await anyio.lowlevel.checkpoint()
        if self._closed:
            raise Failure(f"memory {call}: the store is closed")
        if self._leases:
            self.expire_leases()

    def _apply(self, operations: Sequence[Operation]) -> tuple[tuple[KeyValue, ...], ...]:
        revision = self._history.revision + 1
        events: list[WatchEvent] = []
        results: list[tuple[KeyValue, ...]] = []
        for operation in operations:
            found: tuple[KeyValue, ...] = ()
            match operation:
                case Put(key, value, lease):
                    events.append(self._history.put(key, value, lease, revision))
                    if self._leases:
                        self._attach(key, lease)
                case Delete(key, range_end):
                    events.extend(self._history.delete(key, range_end, revision))
                case Get(key, range_end, limit, keys_only):
                    found, _, _ = self._history.range(key, range_end, 0, limit, keys_only, 0)
            results.append(found)
        if events:
            self._history.commit(events)
            self._wake()
        return tuple(results)

    def _attach(self, key: str, lease: int) -> None:
        for state in self._leases.values():
            state.keys.discard(key)
        if lease:
            self._leases[lease].keys.add(key)

    def _end_lease(self, lease: int) -> None:
        keys = self._leases.pop(lease).keys
        self._apply([Delete(key) for key in sorted(keys)])

    def _seconds_to_expiry(self) -> float | None:
        if not self._leases:
            return None
        return max(0.01, min(state.expires for state in self._leases.values()) - self._clock())

    def _wake(self) -> None:
        for watch in self._watches:
            watch.wake()

    def _cut(self, error: Failure) -> None:
        for watch in self._watches:
            watch.end(error)


class _Lease:
    def __init__(self, ttl: int, expires: float) -> None:
        self.ttl = ttl
        self.expires = expires
        self.keys: set[str] = set()


def _reject_overlaps(operations: Sequence[Operation]) -> None:
    """Raise as etcd does for a transaction that puts a key twice, or puts a key that it also deletes."""
    put: set[str] = set()
    for operation in operations:
        if isinstance(operation, Put):
            if operation.key in put:
                raise Failure(f"memory Txn: duplicate key given in txn request: {operation.key}")
            put.add(operation.key)
    deletes = [operation for operation in operations if isinstance(operation, Delete)]
    for key in put if deletes else ():
        for delete in deletes:
            if key == delete.key or delete.key <= key < delete.range_end:
                raise Failure(f"memory Txn: duplicate key given in txn request: {key}")
