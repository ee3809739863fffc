"""Records how far the consumer has come, and what is being delivered to it now.

Why it exists: the watch resumes after what was *applied*, not after what was received; and an audit that compares the
consumer's view with the store must leave out keys that changed while it was reading. Both need the same record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from intentc.model.events import Batch, Change, Snapshot

ResourceKey = tuple[str, str]


class Applied:
    """The last applied ``revision`` (0: nothing yet) and the number of snapshots delivered."""

    def __init__(self) -> None:
        self.revision = 0
        self.snapshots = 0
        self._under_way: tuple[Change, ...] = ()
        self._recordings: list[set[ResourceKey]] = []

    def delivering(self, item: Snapshot | Batch) -> None:
        """Note that the consumer is about to get ``item``."""
        self._under_way = item.changes
        if isinstance(item, Snapshot):
            self.snapshots += 1
        for recording in self._recordings:
            recording.update(_keys(item.changes))

    def applied(self, revision: int) -> None:
        """Note that the consumer asked for the next item: it has applied everything up to ``revision``."""
        self.revision = revision
        self._under_way = ()

    @contextmanager
    def recording(self) -> Iterator[set[ResourceKey]]:
        """The keys (kind, uuid) of everything that the consumer gets meanwhile, its present item included."""
        recording = set(_keys(self._under_way))
        self._recordings.append(recording)
        try:
            yield recording
        finally:
            self._recordings.remove(recording)


def _keys(changes: Iterable[Change]) -> Iterator[ResourceKey]:
    return ((change.kind, change.uuid) for change in changes)
