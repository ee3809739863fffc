"""Follows in etcd the resources of mirrored kinds, manifests, and the answers to manifests.

Why it exists: the mirror compares with what etcd holds, not with what was written: whoever changes a copy, it shows
here. ``watch.source`` misses nothing; ``projection`` reads the values; what others need is handed to ``noted``.
``compiled_problems`` follows what compilers report.

State: which keys are known, to notice deletions in a new snapshot; the revision, and whether all was listed. It changes
the mirror; no I/O of its own but the watch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import aclosing

import anyio

from intentc.model import Key
from intentc.model.events import Batch, Snapshot
from intentc.watch.source import Source

from .mirror import Mirror
from .projection import Projector

_LOG = logging.getLogger(__name__)


class StoredCopies:
    """The resources of mirrored kinds in etcd, and of the kinds ``others``. ``applied`` is called after each delivery,
    ``noted`` with each value, None for one that is gone, and its revision."""

    def __init__(
        self,
        source: Source,
        projectors: Mapping[str, Projector],
        mirror: Mirror,
        applied: Callable[[], None],
        noted: Callable[[Key, bytes | None, int], None] = lambda key, value, revision: None,
        others: Collection[str] = (),
    ) -> None:
        self.source = source
        self.listed = anyio.Event()
        """Set once everything in etcd is applied."""
        self.revision = 0
        """Up to which etcd is applied."""
        self._projectors = projectors
        self._mirror = mirror
        self._applied = applied
        self._noted = noted
        self._others = others
        self._known: set[Key] = set()

    async def run(self) -> None:
        """Apply what changes in etcd until cancelled."""
        async with aclosing(self.source.events()) as events:
            async for item in events:
                self._apply(item)
                self.listed.set()
                self._applied()

    def _apply(self, item: Snapshot | Batch) -> None:
        seen: set[Key] = set()
        for change in item.changes:
            if change.kind not in self._projectors and change.kind not in self._others:
                continue
            key = Key(change.kind, change.uuid)
            seen.add(key)
            self._take(key, change.value, change.mod_revision)
            if change.value is None:
                self._known.discard(key)
            else:
                self._known.add(key)
        if isinstance(item, Snapshot):
            for key in self._known - seen:
                self._take(key, None, item.revision)
            self._known &= seen
        self.revision = item.revision

    def _take(self, key: Key, value: bytes | None, revision: int) -> None:
        projector = self._projectors.get(key.kind)
        if projector is not None:
            self._mirror.stored(key, projector.stored(value, revision) if value is not None else None)
        self._noted(key, value, revision)
