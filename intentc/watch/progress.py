"""Records how far the watch and its consumer have come.

Why it exists: operators ask "is it behind, and by how much?" before anything else, and the last applied revision does
not answer that, since most revisions of a busy etcd may not concern us (``Progress``; nothing is decided by it). The
watch resumes after what was *applied*, not after what was received, and a relist that compares the consumer's view with
the store must leave out keys that changed while it was reading (``Applied``).

State: revisions, the counts of a listing and of snapshots, and what is recorded for a relist. ``source`` advances them;
``heartbeat`` and the service note revisions that they know of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from intentc.model.events import Batch, Change, Snapshot


class Progress:
    """``seen``: the highest revision that etcd is known to have had. ``passed``: everything of ours up to it has been
    delivered and applied. ``listed`` of ``to_list`` keys have been read by the listing under way."""

    def __init__(self) -> None:
        self.seen = 0
        self.passed = 0
        self.listed = 0
        self.to_list = 0

    @property
    def lag(self) -> int | None:
        """Revisions between ``passed`` and ``seen``; None before the first listing was applied."""
        return max(0, self.seen - self.passed) if self.passed else None

    def saw(self, revision: int) -> None:
        """Note that etcd has reached this revision, whatever answer reported it."""
        self.seen = max(self.seen, revision)

    def listing(self, listed: int, to_list: int) -> None:
        """Note how many keys of a listing have been read."""
        self.listed, self.to_list = listed, to_list

    def start_over(self, revision: int) -> None:
        """Note that the world was listed and applied at ``revision``; older figures are void after a restore."""
        self.seen = self.passed = revision

    def delivered(self, revision: int) -> None:
        """Note that a batch of ours was applied. If a beat overtook it, ``passed`` goes back to the batch."""
        self.saw(revision)
        self.passed = revision

    def beat(self, revision: int) -> None:
        """Note a sign of life on the watch: everything written before it has arrived, too."""
        self.saw(revision)
        self.passed = max(self.passed, revision)


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
