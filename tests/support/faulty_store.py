"""The memory store with faults of networks, old servers and operators: duplicates, losses, silence, cuts, restores.

State: the faults under way; tests change them.
"""

from __future__ import annotations

import copy
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio.lowlevel

from intentc.reconcile.failures import Failure, Unavailable
from intentc.watch.memory import MemoryStore, MemoryWatch
from intentc.watch.protocol import WatchBatch, WatchProgress


class FaultyWatch(MemoryWatch):
    """``silent``: it delivers nothing more and does not end. ``lost``: revisions that it never delivers."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.silent = False
        self.lost: set[int] = set()

    def replay(self, revision: int) -> None:
        """Deliver again from ``revision`` on, then what follows."""
        self._next = min(self._next, revision)
        self.wake()

    def _take(self) -> WatchBatch | WatchProgress | None:
        return None if self.silent else super()._take()

    def _batches(self, revision: int) -> list[WatchBatch] | None:
        return [] if revision in self.lost else super()._batches(revision)


class FaultyStore(MemoryStore):
    """``MemoryStore`` with ``faults``."""

    watch_class = FaultyWatch

    def __init__(self, *, max_txn_ops: int = 128, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(max_txn_ops=max_txn_ops, clock=clock)
        self.faults = Faults(self)

    @asynccontextmanager
    async def watch(self, prefixes: Sequence[str], start_revision: int) -> AsyncIterator[FaultyWatch]:
        async with super().watch(prefixes, start_revision) as watch:
            assert isinstance(watch, FaultyWatch)
            yield watch

    async def _enter(self, call: str) -> None:
        if self.faults.unreachable and not self._closed:
            await anyio.lowlevel.checkpoint()
            raise Unavailable(f"memory {call}: unreachable, as the test asked for")
        await super()._enter(call)

    def _wake(self) -> None:
        self.faults.lose(self._history.revision)
        super()._wake()


class Faults:
    """What a test can do to a store."""

    def __init__(self, store: FaultyStore) -> None:
        self.unreachable = False
        """While true every call raises ``Unavailable``; open watches continue (cut them as well, if needed)."""
        self._store = store
        self._lose = 0
        self._revision = store._history.revision

    def cut_watches(self, error: Failure | None = None) -> None:
        """End every open watch with ``error`` (default ``Unavailable``) before its next delivery."""
        self._store._cut(error or Unavailable("memory Watch: cut, as the test asked for"))

    def silence_watches(self) -> None:
        """Every open watch delivers nothing more and does not end."""
        for watch in self._watches():
            watch.silent = True

    def replay(self, revisions: int) -> None:
        """Deliver the last so many revisions again to every open watch (as etcd before 3.4.24 may)."""
        for watch in self._watches():
            watch.replay(max(2, self._store._history.revision - revisions + 1))

    def lose_next(self, revisions: int = 1) -> None:
        """Withhold the next so many revisions from open watches for good (etcd #19179 and similar)."""
        self._lose = revisions

    def backup(self) -> Callable[[], None]:
        """Take a backup; calling the result restores it: revisions go back, watches are cut."""
        store = self._store
        history, leases = copy.deepcopy(store._history), copy.deepcopy(store._leases)

        def restore() -> None:
            store._cut(Unavailable("memory Watch: the store was restored from a backup"))
            store._history, store._leases = copy.deepcopy(history), copy.deepcopy(leases)
            # Leases are part of a backup, and start anew with it.
            for lease in store._leases.values():
                lease.expires = store._clock() + lease.ttl

        return restore

    def lose(self, revision: int) -> None:
        """Called by the store when its history may have grown to ``revision``."""
        if self._lose and revision > self._revision:
            self._lose -= 1
            for watch in self._watches():
                watch.lost.add(revision)
        self._revision = revision

    def _watches(self) -> Iterator[FaultyWatch]:
        return (cast(FaultyWatch, watch) for watch in self._store._watches)


def faults_of(store: MemoryStore) -> Faults:
    """The faults of a system's store."""
    assert isinstance(store, FaultyStore)
    return store.faults
