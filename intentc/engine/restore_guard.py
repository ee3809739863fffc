"""Detects a store that was restored to an older state, and withholds writes until everything in it is evaluated.

The watch reports a restore, or a listing shows the store or a key in an older version than before. Then everything
remembered of the store is void; evaluation goes on. The engine allows writes again once everything is evaluated and the
allocations are read, or leaves that to a caller that needs more (an audit, for example). docs/guarantees.md has the
fault as F10.

Each later listing voids the allocations; a restore also withholds writes, voids assumptions, journal and the last
written revision, and queues the objects whose assumptions it voids.
"""

from __future__ import annotations

import asyncio
import logging

from ..journal import Journal
from ..logic import LiveWorld
from ..model import Key, Snapshot
from ..planning import Assumed
from .allocations import Allocations
from .objects import Objects
from .permission import RESTORED, Permission
from .writes import Sender

_LOG = logging.getLogger(__name__)
_MESSAGE = "etcd was restored from an older state; nothing is written until everything is evaluated"


class RestoreGuard:
    """``times``: how many restores were found."""

    def __init__(
        self,
        logic: LiveWorld,
        assumed: Assumed,
        journal: Journal,
        permission: Permission,
        objects: Objects,
        allocations: Allocations,
        sender: Sender,
    ) -> None:
        self._logic = logic
        self._assumed = assumed
        self._journal = journal
        self._permission = permission
        self._objects = objects
        self._allocations = allocations
        self._sender = sender
        self._compared = asyncio.Event()
        self._confirmation_required = False
        self.times = 0

    def require_confirmation(self) -> None:
        """From now on, leave it to whoever waits for ``wait_until_evaluated`` to allow writes after a restore."""
        self._confirmation_required = True

    def check(self, snapshot: Snapshot) -> None:
        """Check a listing, other than the first one, before it is applied."""
        self._allocations.invalidate()
        self._compared.clear()
        if not (snapshot.restored or self._is_older(snapshot)):
            return
        self.times += 1
        _LOG.error(_MESSAGE)
        self._permission.withhold(RESTORED, _MESSAGE)
        self._objects.plan(sorted(self._assumed.forget()), resync=True)
        self._sender.restored(snapshot.revision)
        # The journal's lines are of revisions that the store no longer has: no conclusions may be drawn from them.
        self._journal.clear(snapshot.revision)

    def evaluated(self) -> bool:
        """Everything listed is evaluated. True if that ends a restore, so that writes may be allowed again; otherwise
        somebody else allows them, or none are withheld."""
        # Idle alone is not enough: a failed read of the allocations backs off, and is idle meanwhile.
        if RESTORED not in self._permission.withheld_for or not (
            self._allocations.known and self._allocations.loop.idle
        ):
            return False
        if self._confirmation_required:
            self._compared.set()
        return not self._confirmation_required

    async def wait_until_evaluated(self) -> None:
        """Return once the store was restored, and everything in it was evaluated; writes are still withheld. That it
        was evaluated stays true, whatever changes since; the next listing must be evaluated anew."""
        if RESTORED not in self._permission.withheld_for:
            self._compared.clear()
        await self._compared.wait()

    def _is_older(self, snapshot: Snapshot) -> bool:
        """Whether a key is in an older version than before: revisions of a key never decrease."""
        logic = self._logic
        return snapshot.revision < logic.revision or any(
            change.mod_revision < logic.mod_revision(Key(change.kind, change.uuid)) for change in snapshot.changes
        )
