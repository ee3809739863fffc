"""Records how far the watch and its consumer have come, whether the watch is ready, and what it counts.

State: ``source`` and its parts change all of it; ``heartbeat`` and the service note revisions that they know of.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from intentc.model.events import Batch, Change, Snapshot


class Phase(enum.Enum):
    """What the source is doing."""

    LISTING = "listing"
    WATCHING = "watching"
    DISCONNECTED = "disconnected"


class SourceState(NamedTuple):
    """The phase, since when (Unix time in seconds), and the watch's last error ("" if there was none).
    ``rejection``: why the store rejects our heartbeat, "" if it doesn't; it will reject a leader's writes as well.
    """

    phase: Phase
    since: float
    error: str = ""
    rejection: str = ""

    @property
    def ready(self) -> bool:
        """True while events arrive and the store accepts our writes."""
        return self.phase is Phase.WATCHING and not self.rejection

    @property
    def last_error(self) -> str:
        """The most likely reason for not being ready."""
        return self.rejection or self.error


@dataclass
class SourceCounters:
    """Counters since the start of the process. The dictionaries count by reason, a short text without variables."""

    lists: Counter[str] = field(default_factory=Counter)
    disconnects: Counter[str] = field(default_factory=Counter)
    batches: int = 0
    changes: int = 0
    duplicates: int = 0
    """Batches dropped because their revision was not newer than the last one."""
    foreign_keys: int = 0
    """Different keys under the prefix that are not ``<kind>/<uuid>`` (counted up to the first thousand)."""
    heartbeats_seen: int = 0
    heartbeats_put: int = 0
    heartbeats_failed: int = 0
    relisted_keys: int = 0
    relist_passes: int = 0
    """How often the relist has read the whole world."""
    missed_events: int = 0


ResourceKey = tuple[str, str]


class Progress:
    """How far the watch and its consumer have come.

    ``applied``: the last revision that the consumer has applied (0: nothing yet), after which the watch resumes.
    ``snapshots``: how many were delivered. The other figures are only shown. ``seen``: the highest revision that etcd
    is known to have had. ``passed``: everything of ours up to it has been delivered and applied. ``listed`` of
    ``to_list`` keys have been read by the listing under way.
    """

    def __init__(self) -> None:
        self.applied = 0
        self.snapshots = 0
        self.seen = 0
        self.passed = 0
        self.listed = 0
        self.to_list = 0
        self._under_way: tuple[Change, ...] = ()
        self._recordings: list[set[ResourceKey]] = []

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

    def beat(self, revision: int) -> None:
        """Note a sign of life on the watch: everything written before it has arrived, too."""
        self.saw(revision)
        self.passed = max(self.passed, revision)

    def delivering(self, item: Snapshot | Batch) -> None:
        """Note that the consumer is about to get ``item``."""
        self._under_way = item.changes
        self.snapshots += isinstance(item, Snapshot)
        for recording in self._recordings:
            recording.update(_keys(item.changes))

    def delivered(self, item: Snapshot | Batch) -> None:
        """Note that the consumer asked for the next item: it has applied this one.

        After a snapshot older figures are void: the store may be a restored one. If a beat overtook a batch, ``passed``
        goes back to the batch.
        """
        self._under_way = ()
        self.applied = self.passed = item.revision
        self.seen = item.revision if isinstance(item, Snapshot) else max(self.seen, item.revision)

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
