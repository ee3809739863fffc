"""A store that was put back to an older state: nothing is written before everything has been compared (F10).

How that is noticed: the watch says so, or a listing shows a key as it was before we last saw it. Then all that is
remembered of the store is void; evaluation goes on, and whoever wants more than that before anything is written (an
audit, say) gives the permission by himself.
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
    """``times``: how often it was found so. ``on_compared``: called, again and again, once everything that the restored
    store holds is evaluated."""

    def __init__(self, parts: Parts, numbers: Allocations, sender: Sender) -> None:
        self._parts = parts
        self._numbers = numbers
        self._sender = sender
        self.times = 0
        self.on_compared: Callable[[], None] = lambda: parts.permission.give(RESTORED)

    def look(self, snapshot: Snapshot) -> None:
        """Look at a listing, not the first one, before it is applied."""
        self._numbers.distrust()
        if not (snapshot.restored or self._is_older(snapshot)):
            return
        self.times += 1
        _LOG.error(_MESSAGE)
        parts = self._parts
        parts.permission.withhold(RESTORED, _MESSAGE)
        for name in sorted(parts.assumed.forget()):
            parts.objects.add(name, resync=True)
        self._sender.restored(snapshot.revision)
        # Its lines are of a future that never was: nobody may draw conclusions from their revisions.
        parts.journal.clear(snapshot.revision)

    def idle(self) -> None:
        """Everything known is evaluated, and looked through."""
        if RESTORED in self._parts.permission.reasons and self._numbers.idle:
            self.on_compared()

    def _is_older(self, snapshot: Snapshot) -> bool:
        """Whether it shows something as it was before we last saw it: revisions of a key never go back."""
        logic = self._parts.logic
        return snapshot.revision < logic.revision or any(
            change.mod_revision < logic.mod_revision(Key(change.kind, change.uuid)) for change in snapshot.changes
        )
