"""A watch of the memory store: a position in its history, woken when the history grows.

Why it exists: it delivers what etcd's watchers deliver (whole revisions, one batch per watched prefix) and holds the
places where a test's faults apply. The store makes it and wakes it.

State: its position, the batches to deliver, the error that ends it, and the faults of a test; the store owns the
history. It waits for changes, or until leases end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import anyio
import anyio.lowlevel

from intentc.watch.memory_history import History
from intentc.watch.protocol import StoreError, WatchBatch, WatchProgress


class MemoryWatch:
    """``Watch`` in memory."""

    def __init__(
        self,
        cluster_id: int,
        history: History,
        prefixes: tuple[str, ...],
        start_revision: int,
        patience: Callable[[], float | None],
    ) -> None:
        self.silent = False
        self.lost: set[int] = set()
        self.on_timeout: Callable[[], None] = lambda: None
        self._cluster_id = cluster_id
        self._history = history
        self._prefixes = prefixes
        self._next = start_revision
        self._patience = patience
        self._ready: deque[WatchBatch | WatchProgress] = deque()
        self._changed = anyio.Event()
        self._error: StoreError | None = None

    @property
    def cluster_id(self) -> int:
        """The id of the store's cluster when the watch was opened."""
        return self._cluster_id

    def wake(self) -> None:
        """Note that the history may have grown."""
        self._changed.set()

    def end(self, error: StoreError) -> None:
        """Raise ``error`` now; what is not yet delivered is lost with the watch."""
        self._error = self._error or error
        self.wake()

    def replay(self, revision: int) -> None:
        """Deliver again from ``revision`` on, then what follows."""
        self._next = min(self._next, revision)
        self.wake()

    def __aiter__(self) -> MemoryWatch:
        return self

    async def __anext__(self) -> WatchBatch | WatchProgress:
        await anyio.lowlevel.checkpoint()
        while True:
            if self._error is not None and not self.silent:
                raise self._error
            if not self.silent and self._collect():
                return self._ready.popleft()
            self._changed = anyio.Event()
            with anyio.move_on_after(self._patience()) as scope:
                await self._changed.wait()
            if scope.cancelled_caught:
                self.on_timeout()

    def _collect(self) -> bool:
        """Move the next revision under our prefixes to the ready ones; False if there is none yet."""
        while not self._ready:
            revision = self._next
            events = self._history.events_at(revision)
            if events is None:
                return False
            self._next += 1
            if revision in self.lost:
                continue
            for prefix in self._prefixes:
                concerned = tuple(event for event in events if event.item.key.startswith(prefix))
                if concerned:
                    self._ready.append(WatchBatch(revision, concerned, prefix))
        return True
