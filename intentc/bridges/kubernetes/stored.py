"""Follows in etcd what the mirror needs: the mirrored kinds, and the operator's directives for the bridge.

Why it exists: the mirror compares with what etcd holds, not with what was written: whoever changes a copy, it shows
here. ``watch.source`` misses nothing; ``projection`` reads the values.

State: which keys are known, to notice deletions in a new snapshot. It changes the mirror; no I/O of its own but the
watch.

Touches: logs; through others: clock, etcd, randomness.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing

import anyio

from intentc.model import Key
from intentc.model.events import Batch, Snapshot
from intentc.watch.source import Source

from .mirror import Mirror
from .projection import Projector

_LOG = logging.getLogger(__name__)


class StoredCopies:
    """The resources of mirrored kinds in etcd. ``applied`` is called after each delivery, ``noted`` with
    each value, None for one that is gone."""

    def __init__(
        self,
        source: Source,
        projectors: Mapping[str, Projector],
        mirror: Mirror,
        applied: Callable[[], None],
        noted: Callable[[Key, bytes | None], None] = lambda key, value: None,
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
            projector = self._projectors.get(change.kind)
            if projector is None:
                continue
            key = Key(change.kind, change.uuid)
            seen.add(key)
            self._noted(key, change.value)
            if change.value is None:
                self._known.discard(key)
                self._mirror.stored(key, None)
            else:
                self._known.add(key)
                self._mirror.stored(key, projector.stored(change.value, change.mod_revision))
        if isinstance(item, Snapshot):
            for key in self._known - seen:
                self._mirror.stored(key, None)
                self._noted(key, None)
            self._known &= seen
        self.revision = item.revision
