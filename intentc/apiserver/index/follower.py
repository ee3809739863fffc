"""Follows etcd, and has the entries checked of each resource that this API server did not write itself.

Why it exists: the API server's own transactions write values and entries together; whoever writes values straight into
etcd does not. The watch is that of the compilers (``watch/source.py``): a listing first, and after a gap, whose values
are compared with the whole index, then every change. Changes are collected for some milliseconds and checked one by
one, so that own writes have been noted by then and are skipped. Other API servers' writes are checked, too, which costs
one or two reads each.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from contextlib import aclosing
from itertools import islice

import anyio

from intentc.model import Key, Schema
from intentc.model.events import Batch, Change, Snapshot
from intentc.reconcile.backoff import Retries
from intentc.reconcile.failures import Failure
from intentc.watch.keys import Layout as Keys
from intentc.watch.listing import PageLimits, list_all
from intentc.watch.protocol import Compacted, Store
from intentc.watch.source import Source

from ..errors import ApiError, Busy, Malformed, from_store
from ..large_commit import LargeCommits
from ..layout import Layout
from .entries import Suspects, suspects, wanted_entries
from .repair import Repair

_LOGGER = logging.getLogger(__name__)
_GATHERING = 0.02
"""Seconds."""
_MOST_OWN = 10_000
_PAGES = PageLimits(1_000, 1024 * 1024)
"""A page of a listing takes the loop for some milliseconds, while requests wait."""
_AT_ONCE = 30
"""Resources whose entries are read and written together."""


class OwnWrites:
    """The revisions of this server's transactions, as long as their events may still arrive. Threads may note some."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # In the order in which they were noted, which is nearly theirs.
        self._revisions: dict[int, None] = {}

    def __contains__(self, revision: int) -> bool:
        return revision in self._revisions

    def note(self, revision: int) -> None:
        """Note a transaction that wrote values and entries together."""
        with self._lock:
            self._revisions[revision] = None
            if len(self._revisions) > _MOST_OWN:
                # Those that are forgotten too early are checked, no more.
                del self._revisions[next(iter(self._revisions))]

    def forget(self, revision: int) -> None:
        """Forget what was written up to ``revision``."""
        with self._lock:
            while self._revisions and (first := next(iter(self._revisions))) <= revision:
                del self._revisions[first]


class Follower:
    """Keeps the index in ``store`` true. ``limit``: operations that one transaction takes; ``own``: what this server
    writes; ``large``: what it waits for."""

    def __init__(
        self, store: Store, schema: Schema, layout: Layout, limit: int, own: OwnWrites, large: LargeCommits
    ) -> None:
        self._store = store
        self._schema = schema
        self._layout = layout
        self._own = own
        self._repair = Repair(store, schema, layout, limit, large)
        self._source = Source(store, f"/{layout.path}/", pages=_PAGES)
        self._retries = Retries()
        self._snapshot: Snapshot | None = None
        self._changed: dict[Key, list[Change]] = {}
        self._suspects: Suspects = {}
        # A resource that has a name or uuid → those that have the same and lost it.
        self._losers: dict[Key, set[Key]] = {}
        self._wake = anyio.Event()
        self._indexed = anyio.Event()

    async def indexed(self) -> None:
        """Wait until everything that was in etcd at the start is checked."""
        await self._indexed.wait()

    async def ask(self) -> None:
        """Return once etcd has answered. Raises ``ApiError`` if it doesn't, or rejects us."""
        try:
            await self._source.ask()
        except Failure as error:
            raise from_store(error, writing=False) from error

    async def run(self) -> None:
        """Follow and check until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow)
            tasks.start_soon(self._check)

    async def _follow(self) -> None:
        async with aclosing(self._source.events()) as events:
            async for item in events:
                if isinstance(item, Snapshot):
                    self._snapshot = item
                    self._changed.clear()
                else:
                    self._note(item)
                self._wake.set()

    def _note(self, batch: Batch) -> None:
        for change in batch.changes:
            kind = self._schema.kinds.get(change.kind)
            if kind is not None and kind.stored:
                self._changed.setdefault(Key(change.kind, change.uuid), []).append(change)

    async def _check(self) -> None:
        while True:
            await self._wake.wait()
            await anyio.sleep(_GATHERING)
            self._wake = anyio.Event()
            try:
                await self._pass()
            except (Failure, ApiError) as error:
                _LOGGER.warning("the index can't be checked now: %s; tried again", error)
                self._wake.set()
                await anyio.sleep(self._retries.next_wait())
            else:
                self._retries.went_well()

    async def _pass(self) -> None:
        """Check everything that has changed. What is not checked yet when etcd fails stays for the next pass."""
        counts = Counter[str]()
        while self._snapshot or self._changed or self._suspects:
            await self._sweep()
            while self._changed:
                await self._suspect(next(iter(self._changed)))
            while self._suspects:
                await self._repair_some(counts)
        self._own.forget(self._source.applied_revision)
        if counts["entries"]:
            _LOGGER.info("corrected %d index entries of what others wrote", counts["entries"])
        if counts["broken"]:
            _LOGGER.warning(
                "%d resources that others wrote break the rules of names or can't be read; `intentc check --live` lists"
                " them",
                counts["broken"],
            )
        self._indexed.set()

    async def _sweep(self) -> None:
        while (snapshot := self._snapshot) is not None:
            found = await suspects(self._store, self._schema, self._layout, snapshot.changes)
            # The sweep may have found very many, the rest are few.
            for key, entries in self._suspects.items():
                found.setdefault(key, set()).update(entries)
            self._suspects = found
            if self._snapshot is snapshot:
                self._snapshot = None

    async def _suspect(self, key: Key) -> None:
        """Turn the changes of a resource into a suspect, with the entries that it had before and in between."""
        changes = self._changed.pop(key)
        others = [change for change in changes if change.mod_revision not in self._own]
        try:
            if others:
                entries = await self._former(key, others[0])
                for change in others[:-1]:
                    entries |= self._entries(key, change.value)
                self._suspects.setdefault(key, set()).update(entries)
        except Failure:
            self._changed[key] = [*others, *self._changed.get(key, ())]
            raise
        for loser in self._losers.get(key, ()):
            self._suspects.setdefault(loser, set())

    async def _former(self, key: Key, change: Change) -> set[str]:
        """The entries of the value before a change. If that is compacted, the whole index is to be checked instead."""
        if change.value is not None and change.create_revision == change.mod_revision:
            return set()
        try:
            found = await self._store.range(self._layout.value(key), revision=change.mod_revision - 1)
        except Compacted:
            listing = await list_all(self._store, Keys.of(f"/{self._layout.path}/"))
            self._snapshot = listing.snapshot
            return set()
        return self._entries(key, found.items[0].value) if found.items else set()

    def _entries(self, key: Key, value: bytes | None) -> set[str]:
        try:
            return set(wanted_entries(self._schema, self._layout, key, value))
        except Malformed:
            return set()

    async def _repair_some(self, counts: Counter[str]) -> None:
        some = dict(islice(self._suspects.items(), _AT_ONCE))
        repaired = await self._repair.repair(some)
        for key in some if repaired.is_complete else ():
            del self._suspects[key]
        self._losers = {rival: left for rival, losers in self._losers.items() if (left := losers - some.keys())}
        for key in repaired.displaced:
            self._suspects.setdefault(key, set())
        for key, error in repaired.unreadable.items():
            _LOGGER.debug("%s is not indexed: %s", key, error.reason)
        for key, rivals in repaired.rivals.items():
            for rival in rivals:
                _LOGGER.debug("%s has a name or uuid that %s has had for longer", key, rival)
                self._losers.setdefault(rival, set()).add(key)
        counts["entries"] += repaired.entries
        counts["broken"] += len(repaired.unreadable) + len(repaired.rivals)
        if not repaired.is_complete:
            raise Busy(f"others always change one of {len(some)} resources while their entries are corrected")
