"""Detects a store that was restored to an older state, and withholds writes until everything is compared (F10).

The watch reports a restore, or a listing shows a key in an older version than before. Then everything remembered of
the store is void; evaluation goes on. A caller that needs more before writes begin (an audit, for example) gives the
permission itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..model import Key, Snapshot
from .allocations import Allocations
from .parts import Parts
from .permission import RESTORED
from .sender import Sender

_LOG = logging.getLogger(__name__)
_MESSAGE = "etcd was restored from an older state; nothing is written until everything is compared"


class RestoreGuard:
    """``times``: how many restores were found. ``on_compared``: called, repeatedly, once everything in the restored
    store is evaluated."""

    def __init__(self, parts: Parts, numbers: Allocations, sender: Sender) -> None:
        self._parts = parts
        self._numbers = numbers
        self._sender = sender
        self.times = 0
        self.on_compared: Callable[[], None] = lambda: parts.permission.give(RESTORED)

    def look(self, snapshot: Snapshot) -> None:
        """Check a listing, other than the first one, before it is applied."""
        self._numbers.invalidate()
        if not (snapshot.restored or self._is_older(snapshot)):
            return
        self.times += 1
        _LOG.error(_MESSAGE)
        parts = self._parts
        parts.permission.withhold(RESTORED, _MESSAGE)
        for name in sorted(parts.assumed.forget()):
            parts.objects.add(name, resync=True)
        self._sender.restored(snapshot.revision)
        # The journal's lines are of revisions that the store no longer has: no conclusions may be drawn from them.
        parts.journal.clear(snapshot.revision)

    def idle(self) -> None:
        """Everything known is evaluated and planned."""
        if RESTORED in self._parts.permission.reasons and self._numbers.idle:
            self.on_compared()

    def _is_older(self, snapshot: Snapshot) -> bool:
        """Whether a key is in an older version than before: revisions of a key never decrease."""
        logic = self._parts.logic
        return snapshot.revision < logic.revision or any(
            change.mod_revision < logic.mod_revision(Key(change.kind, change.uuid)) for change in snapshot.changes
        )
