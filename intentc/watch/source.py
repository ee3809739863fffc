"""The watch discipline: delivers every change once, in order, in whole revisions, and misses none (docs/engine.md §1).

A watch alone loses what happened before it, while it was cut, and what was compacted meanwhile. The source lists at one
revision, watches from the next, and lists again whenever it can't prove that it saw everything; then the consumer finds
the difference. It also runs the heartbeat and reads slices of the world again, when its caller asks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable

import anyio

from intentc import crashpoints
from intentc.model.events import Batch, Correction, Snapshot
from intentc.reconcile.backoff import Retries
from intentc.reconcile.failures import CertificateExpired, Denied, Failure, Unavailable, Untrusted
from intentc.watch.heartbeat import Heartbeat, Pulse
from intentc.watch.keys import Layout
from intentc.watch.listing import DEFAULT_PAGES, PageLimits, list_all
from intentc.watch.missed_events import Believed, HistoryCheck, Relist
from intentc.watch.protocol import Compacted, FutureRevision, Store, Watch, WatchBatch, WatchProgress
from intentc.watch.watch_state import Phase, Progress, SourceCounters, SourceState

_LOGGER = logging.getLogger(__name__)
# etcd reports its progress every 10 minutes; without heartbeats that is the only sign of life.
_PATIENCE_WITHOUT_HEARTBEAT = 20 * 60.0
_DENIED = "access denied"
_REMEMBERED_FOREIGN_KEYS = 1_000


class Source:
    """Snapshots and batches of the resources under one prefix, for one consumer.

    ``prefix``: begins and ends in ``/``. ``heartbeat``: None for processes that may not write. ``gap_limit``: if more
    revisions than this were missed, the world is listed instead of replayed. ``on_resumed``: called when a watch that
    was cut goes on. Raises ``ValueError`` for a prefix without its last ``/``.
    """

    def __init__(
        self,
        store: Store,
        prefix: str,
        *,
        heartbeat: Heartbeat | None = None,
        pages: PageLimits = DEFAULT_PAGES,
        gap_limit: int = 3_000,
        retries: Retries | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counters = SourceCounters()
        self.state = SourceState(Phase.DISCONNECTED, time.time())
        self.progress = Progress()
        self.on_resumed: Callable[[], None] = lambda: None
        self._store = store
        self._layout = Layout.of(prefix)
        self._heartbeat = heartbeat
        self._pages = pages
        self._gap_limit = gap_limit
        self._retries = retries or Retries()
        self._clock = clock
        self._heard = clock()
        self._relist = Relist(store, self._layout, self.progress, self.counters)
        self._history_check = HistoryCheck(self._layout)
        self._foreign_keys: set[str] = set()
        self._cluster_id = 0
        self._list_reason: str | None = "first"
        self._reported = ""
        self._restored = False

    @property
    def applied_revision(self) -> int:
        """The last revision that the consumer has applied; 0 before the first snapshot."""
        return self.progress.applied

    @property
    def patience(self) -> float:
        """Seconds of silence after which the watch counts as dead."""
        return self._heartbeat.patience if self._heartbeat else _PATIENCE_WITHOUT_HEARTBEAT

    @property
    def is_denied(self) -> bool:
        """Whether the store's last answer was that we may not watch."""
        return self._reported == _DENIED

    @property
    def silent_since(self) -> float | None:
        """Since when (Unix time in seconds) etcd has delivered nothing, not even a heartbeat, if that is longer than
        ``patience``: the known inputs may be old. None if it has."""
        seconds = self._clock() - self._heard
        return time.time() - seconds if seconds > self.patience else None

    async def events(self) -> AsyncGenerator[Snapshot | Batch, None]:
        """Yield without end: a ``Snapshot`` first, then a ``Batch`` per revision; a ``Snapshot`` again after a gap.

        An item counts as applied when the next one is requested. Errors of the store are waited out, and show in
        ``state``. Wrap it in ``contextlib.aclosing``, so that the watch ends where the loop does.
        """
        while True:
            try:
                await self._check_for_gap()
                if self._list_reason is not None:
                    snapshot = await self._list(self._list_reason)
                    self.progress.delivering(snapshot)
                    yield snapshot
                    self._delivered(snapshot)
                async with self._store.watch(self._prefixes(), self.applied_revision + 1) as watch:
                    self._opened(watch)
                    items = aiter(watch)
                    while self._list_reason is None:
                        batch = self._accept(await self._next(items))
                        if batch is None:
                            continue
                        self.progress.delivering(batch)
                        if batch.changes:
                            yield batch
                        self._delivered(batch)
            except Failure as error:
                self._failed(error)
                await anyio.sleep(self._retries.next_wait())

    def _delivered(self, item: Snapshot | Batch) -> None:
        self.progress.delivered(item)
        self._history_check.saw(item)

    async def ask(self) -> None:
        """Return once the store has answered anything. Raises ``Failure`` if it doesn't, or rejects us; ``state``
        shows that meanwhile."""
        try:
            await self._store.range(self._layout.prefix, keys_only=True)
        except Failure as error:
            self._enter(Phase.DISCONNECTED, str(error))
            raise

    async def run_heartbeat(self) -> None:
        """Put our heartbeat until cancelled; run it next to the consumer. Returns at once without a heartbeat."""
        if self._heartbeat is not None:
            await Pulse(self._store, self._heartbeat, self.counters, self._rejected, self.progress.saw).run()

    async def relist_slice(self, believed: Believed, limit: int | None = None) -> Correction | None:
        """Compare the next slice of the store with the consumer's view, at the last applied revision.

        The result holds missed changes, to be applied *before the next await*; its revision is at most the last one,
        and older on a busy store. None if nothing differs. ``limit``: keys in a slice; None: the world in 3,600 calls.
        Safe next to the consumer's task. If the revision is compacted the source lists again. Nothing is compared while
        there is no watch: changes in that time are not missed events, and a further caller would only load the store.
        """
        if not self.ready:
            return None
        try:
            return await self._relist.next_slice(believed, limit)
        except (Compacted, FutureRevision):
            self.request_listing("relist")
        except Failure as error:
            _LOGGER.debug("relist of a slice deferred: %s", error)
        return None

    @property
    def ready(self) -> bool:
        """Whether events arrive, and the store accepts our writes."""
        return self.state.ready

    def request_listing(self, reason: str) -> None:
        """List again at the watch's next sign of life, at the latest with the next heartbeat."""
        self._list_reason = self._list_reason or reason

    def _prefixes(self) -> list[str]:
        return [self._layout.prefix] + ([self._heartbeat.prefix] if self._heartbeat else [])

    async def _check_for_gap(self) -> None:
        """Decide after a cut whether the watch may resume."""
        if self._list_reason is not None:
            return
        now = await self._store.range(self._layout.prefix, keys_only=True)
        self.progress.saw(now.revision)
        if now.cluster_id != self._cluster_id:
            self._list_reason = "cluster changed"
        elif now.revision < self.applied_revision:
            self._list_reason = "revision went back"
        elif now.revision - self.applied_revision > self._gap_limit:
            self._list_reason = "gap"
        elif not await self._history_check.confirmed(self._store, self.applied_revision):
            _LOGGER.error("etcd's history differs from the one that we saw: it was restored from an older state")
            self._list_reason, self._restored = "restored", True

    async def _list(self, reason: str) -> Snapshot:
        _LOGGER.info("listing %s: %s (last applied %d)", self._layout.prefix, reason, self.applied_revision)
        if self.applied_revision:
            crashpoints.reach("relist.begun")
        self.progress.listing(0, 0)
        self._enter(Phase.LISTING)
        listing = await list_all(self._store, self._layout, self._foreign, self._pages, on_page=self.progress.listing)
        is_other_cluster = self._cluster_id not in {0, listing.cluster_id}
        if is_other_cluster:
            _LOGGER.error("etcd's cluster id changed from %x to %x", self._cluster_id, listing.cluster_id)
        if listing.snapshot.revision < self.applied_revision:
            _LOGGER.error(
                "etcd's revision went back from %d to %d: it was restored from an older state",
                self.applied_revision,
                listing.snapshot.revision,
            )
        restored = is_other_cluster or listing.snapshot.revision < self.applied_revision or self._restored
        self._restored = False
        self.counters.lists[reason] += 1
        self._cluster_id = listing.cluster_id
        self._list_reason = None
        return listing.snapshot._replace(restored=restored)

    def _opened(self, watch: Watch) -> None:
        if watch.cluster_id != self._cluster_id:
            self._list_reason = "cluster changed"
            raise Unavailable("the watch is answered by another cluster than the list; check etcd.endpoints")
        if self._reported:
            _LOGGER.info("watching %s again from %d", self._layout.prefix, self.applied_revision + 1)
            self.on_resumed()
        self._reported = ""
        self._heard = self._clock()
        self._retries.went_well()
        self._enter(Phase.WATCHING)

    async def _next(self, items: AsyncIterator[WatchBatch | WatchProgress]) -> WatchBatch | WatchProgress:
        with anyio.move_on_after(self.patience):
            item = await anext(items)
            self._heard = self._clock()
            return item
        raise _Silent(f"the watch said nothing for {self.patience:g} s")

    def _accept(self, item: WatchBatch | WatchProgress) -> Batch | None:
        """The batch to deliver; None for signs of life and for what is already applied."""
        if isinstance(item, WatchProgress):
            self.progress.beat(item.revision)
            return None
        if item.prefix != self._layout.prefix:
            self.progress.beat(item.revision)
            self.counters.heartbeats_seen += 1
            return None
        if item.revision <= self.applied_revision:
            self.counters.duplicates += 1
            return None
        changes = self._layout.changes(item.events, self._foreign)
        self.counters.batches += 1
        self.counters.changes += len(changes)
        return Batch(item.revision, changes)

    def _failed(self, error: Failure) -> None:
        reason = _reason(error)
        if isinstance(error, Compacted | FutureRevision):
            self.request_listing(reason)
        self.counters.disconnects[reason] += 1
        # Once per outage: attempts repeat every few seconds.
        level = logging.DEBUG if reason == self._reported else logging.WARNING
        self._reported = reason
        _LOGGER.log(level, "no watch on etcd (%s), last applied %d: %s", reason, self.applied_revision, error)
        self._enter(Phase.DISCONNECTED, str(error))

    def _enter(self, phase: Phase, error: str | None = None) -> None:
        since = self.state.since if phase is self.state.phase else time.time()
        self.state = self.state._replace(phase=phase, since=since, error=self.state.error if error is None else error)

    def _foreign(self, key: str) -> None:
        """Log and count a key of another form, once."""
        if key not in self._foreign_keys and len(self._foreign_keys) < _REMEMBERED_FOREIGN_KEYS:
            self._foreign_keys.add(key)
            self.counters.foreign_keys += 1
            _LOGGER.warning("key %r is not of the form <prefix>/<kind>/<uuid>; it is ignored", key)

    def _rejected(self, reason: str) -> None:
        self.state = self.state._replace(rejection=reason)


class _Silent(Unavailable):
    """The connection is open, but delivers nothing."""


def _reason(error: Failure) -> str:
    match error:
        case _Silent():
            return "silent"
        case Compacted():
            return "compacted"
        case FutureRevision():
            return "revision went back"
        case CertificateExpired():
            return "certificate expired"
        case Untrusted():
            return "not trusted"
        case Unavailable():
            return "unavailable"
        case Denied():
            return _DENIED
        case _:
            return "error"
