"""Queues what carries something of ours that nobody claims, after each complete pass and never before the first
(docs/engine.md §5.7).

``planning/orphans.py`` defines what an orphan is, ``planning/guard.py`` how many may be deleted at once; each object is
then planned like any other. The engine decides when everything is evaluated, so that a pass may be made. It also has
the guard forget deleted owners. State: whether a pass is due, and whether one was complete. It changes the claim book,
the guard of deletions, the records of ``drift`` and the queue of objects.
"""

from __future__ import annotations

import logging

from ..logic import Service
from ..model import Name
from ..planning import ClaimBook, Planner
from .drift import Drift
from .marked_objects import MarkedObjects
from .object_queue import ObjectQueue

_LOG = logging.getLogger(__name__)


class OrphanCollector:
    """``complete``: everything listed was evaluated; ``due``: a pass is to be made once no job is left."""

    def __init__(
        self,
        *,
        logic: Service,
        book: ClaimBook,
        planner: Planner,
        drift: Drift,
        objects: ObjectQueue,
        marked: MarkedObjects,
    ) -> None:
        self._logic = logic
        self._book = book
        self._planner = planner
        self._drift = drift
        self._objects = objects
        self._marked = marked
        self.complete = False
        self.due = True

    def request(self) -> None:
        """Make a pass once everything that a new listing affects is evaluated."""
        self.due = True

    def make_pass(self, *, claimed_too: bool = False) -> frozenset[Name]:
        """Queue every unclaimed object that is ours or carries something of ours, and return them; runs after a listing
        was evaluated. ``claimed_too``: queue all claimed objects as well.

        The planner's guard withholds too many deletes at once."""
        for key in self._logic.held:
            if key.kind in self._logic.intent_kinds:
                self._book.retain(key)
        self.complete, self.due = True, False
        found = self._planner.orphans()
        queued = found.union(self._book.names()) if claimed_too else found
        self._drift.meant(queued)
        self._objects.plan(sorted(queued), resync=True)
        if found:
            _LOG.info("pass complete: %d objects carry something of ours that nobody claims", len(found))
        for kind, names in sorted(self._planner.guard.withheld.items()):
            _LOG.warning(
                "%d deletes of %s are withheld, since they are too many at once; if that is meant: "
                "`intentc allow-deletes %s`", len(names), kind, kind,
            )  # fmt: skip
        return found

    def forget_deleted_owners(self) -> None:
        """Have the guard forget the owners that are back, and those whose last object is gone: its deletion may have
        been deferred for long."""
        guard, has_intent = self._planner.guard, self._logic.has_intent
        guard.forget({owner for owner in guard.deleted_owners if has_intent(owner) or not self._marked.of(owner)})
