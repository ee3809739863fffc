"""Replaces, keeps or drops what an intent claims, and queues the objects that this changes (step 6).

``planning/claims.py`` keeps the claims, and ``planning/merge.py`` defines what they mean; ``evaluator`` decides when
they are replaced.

It changes the claim book, the guard of deletions, the records of ``drift``, the queue of objects and
``marked_objects``, and asks ``allocations`` who has numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ..model import Claim, Key, Name
from ..planning import ClaimBook, DeleteGuard
from .allocations import Allocations
from .drift import Drift
from .marked_objects import MarkedObjects
from .object_queue import ObjectQueue


class Claims:
    """The claims of all intents, as evaluations change them. What changes them returns the objects to ``plan``."""

    def __init__(
        self,
        *,
        book: ClaimBook,
        guard: DeleteGuard,
        drift: Drift,
        objects: ObjectQueue,
        allocations: Allocations,
        marked: MarkedObjects,
    ) -> None:
        self._book = book
        self._guard = guard
        self._drift = drift
        self._objects = objects
        self._allocations = allocations
        self._marked = marked

    def replace(self, origin: Key, claims: Iterable[Claim], *, keep_finalizers: bool = False) -> frozenset[Name]:
        """Set the claims of an intent after a complete evaluation. ``keep_finalizers``: those that it claimed stay."""
        if keep_finalizers:
            claims = tuple(dict.fromkeys((*claims, *self._book.finalizers_of(origin))))
        return self._changed(origin, self._book.replace(origin, claims))

    def retain(self, origin: Key) -> frozenset[Name]:
        """Keep the claims of a held intent (docs/engine.md §7)."""
        return self._book.retain(origin)

    def replace_status(self, origin: Key, claims: Iterable[Claim]) -> frozenset[Name]:
        """Set what an intent that is on hold claims of status; its other claims stay (docs/engine.md §4.5)."""
        return self._changed(origin, self._book.replace_status(origin, claims))

    def drop(self, origin: Key) -> frozenset[Name]:
        """Remove the claims of an intent that doesn't exist any more."""
        return self._changed(origin, self._book.drop(origin))

    def are_unknown(self, origin: Key) -> bool:
        """Whether an intent is held since before the first pass, so that its claims are unknown."""
        return self._book.is_unknown(origin)

    def owner_deleted(self, origin: Key) -> None:
        """The deletion of an intent was seen live: the deletes that follow need no approval."""
        self._guard.owner_deleted(origin.uuid)

    def plan(self, names: Collection[Name], *, resync: bool = False) -> None:
        """Plan objects whose desired state may have changed, in this order. ``resync``: let live ones go first."""
        self._drift.meant(names)
        if not resync:
            self._objects.plan(names)
            return
        for name in names:
            # An object in back-off must be planned with the new claims.
            self._objects.plan((name,), resync=not self._objects.backs_off(name))

    def _changed(self, origin: Key, names: frozenset[Name]) -> frozenset[Name]:
        """Have the objects followed on which the intent changed its claims, if they may show a number of it."""
        if self._allocations.holds(origin.uuid):
            self._marked.claims_changed(origin.uuid, names)
        return names
