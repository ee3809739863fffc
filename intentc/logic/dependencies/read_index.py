"""Indexes recorded reads: the readers of each read, and the reads of each evaluated intent (docs/engine.md §3).

Compact, since it has as many entries as all intents have reads: reads are tuples, a single reader is stored without a
set, and an intent's reads as one tuple. ``model/reads.py`` defines the tuples, ``evaluation/context.py`` collects them,
and ``logic/changes.py`` finds those that a change affects.

State: the index, in memory; only ``logic.Service`` changes it.
"""

from __future__ import annotations

from intentc.model import Key, Read
from intentc.model.multimap import MultiMap
from intentc.model.reads import kinds_of

_NOBODY: frozenset[Key] = frozenset()


class ReadIndex:
    """Reads by intent and intents by read."""

    def __init__(self) -> None:
        self._readers: MultiMap[Read, Key] = MultiMap()
        self._reads: dict[Key, tuple[Read, ...]] = {}
        self.kinds: set[str] = set()
        """The kinds that any read so far was about: changes of others concern no reader."""

    def replace(self, key: Key, reads: frozenset[Read]) -> None:
        """Set the reads of ``key`` after an evaluation that completed."""
        former = self._reads.get(key, ())
        kept = reads.intersection(former)
        for read in former:
            if read not in kept:
                self._readers.discard(read, key)
        for read in reads.difference(kept) if kept else reads:
            self._readers.add(read, key)
            self.kinds.update(kinds_of(read))
        self._reads[key] = tuple(reads)

    def add(self, key: Key, reads: frozenset[Read]) -> None:
        """Add reads of ``key`` after an evaluation that failed, waits or was cut off."""
        self.replace(key, reads.union(self._reads.get(key, ())))

    def drop(self, key: Key) -> None:
        """Forget an intent that was deleted."""
        for read in self._reads.pop(key, ()):
            self._readers.discard(read, key)

    def readers(self, read: Read) -> frozenset[Key]:
        """The intents whose last evaluation made this read."""
        found = self._readers.get(read)
        return frozenset(found) if found else _NOBODY

    def has_any(self, read: Read) -> bool:
        """Whether there is such an intent."""
        return bool(self._readers.get(read))

    def reads_of(self, key: Key) -> frozenset[Read]:
        """The reads of the last evaluation of ``key``; empty if it was never evaluated."""
        return frozenset(self._reads.get(key, ()))

    def __contains__(self, key: Key) -> bool:
        """Whether ``key`` was ever evaluated."""
        return key in self._reads

    def __len__(self) -> int:
        """The number of distinct reads that have readers."""
        return len(self._readers)
