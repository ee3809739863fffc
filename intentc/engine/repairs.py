"""Recognizes plans that repair other writers' changes, leaves contended parts out of them, and notes which objects are
right.

``drift`` keeps the records and decides what is contended; ``object_planner`` passes each permitted plan through here,
and ``reconciler`` reports what was written.

State: the objects whose next write repairs another writer's change, in memory. It returns a smaller plan, and changes
the records of ``drift``, the contended objects in the state tables, and the queue.
"""

from __future__ import annotations

import logging

from ..model import Delete, HeldInput, Name, Problem
from ..planning import Assumed, ClaimBook, Plan
from ..planning.claims import Item
from ..planning.items import Stored, items, without
from .drift import Contention, Drift
from .log_fields import LogFields
from .object_queue import ObjectQueue
from .state_tables import StateTables

_LOG = logging.getLogger(__name__)


class Repairs:
    """Plans that repair other writers' changes, and the objects that are as they should be."""

    def __init__(
        self,
        *,
        book: ClaimBook,
        assumed: Assumed,
        states: StateTables,
        drift: Drift,
        objects: ObjectQueue,
        log_fields: LogFields,
    ) -> None:
        self._book = book
        self._assumed = assumed
        self._states = states
        self._drift = drift
        self._objects = objects
        self._log_fields = log_fields
        self._drifted: set[Name] = set()

    def permitted(self, plan: Plan) -> Plan:
        """The plan without the parts of the object that are contended."""
        name, drift = plan.name, self._drift
        if name not in self._book and not plan.is_in_place:
            drift.forget(name)
        if name not in drift:
            return plan
        stored = self._stored(name)
        changed = frozenset[Item]().union(*(items(operation, stored) for operation in plan.operations))
        if drift.differs(name, self._revision(name), changed):
            self._drifted.add(name)
            _LOG.info("%s was changed by another writer; it is repaired", name, extra=self._log_fields.about(name))
        contention = drift.contention(name)
        if contention is None:
            self._states.contended.release(name)
            return plan
        return self._without_contended(plan, contention, stored)

    def _without_contended(self, plan: Plan, contention: Contention, stored: Stored) -> Plan:
        """The plan without the parts of the object that other writers revert. Dropping references to an object that is
        to be deleted or replaced is exempt: it can't be reverted, and other plans wait for it."""
        name, waiting = plan.name, self._objects.waiters_of(plan.name)
        left_alone = {item for item in contention.items if isinstance(item, str) or item[1] not in waiting}
        left = [without(operation, left_alone, stored) for operation in plan.operations]
        kept = tuple(operation for operation in left if operation is not None)
        if kept == plan.operations:
            return plan
        message = (
            f"{', '.join(contention.fields)}: another writer reverts it repeatedly, and writing it once more would "
            "change nothing; find the other writer. `intentc quarantine retry` writes it at once"
        )
        if self._states.contended.hold(name, Problem(name.kind, ":".join(name.fq_name), "Contended", message)):
            _LOG.warning("%s is left alone: %s", name, message, extra=self._log_fields.about(name))
        if not kept:
            self._objects.retry(name, after=contention.rest)
            if not plan.waits_for:
                self._drift.stands(name, self._revision(name))
        return plan._replace(operations=kept)

    def _revision(self, name: Name) -> int | None:
        """The present mod revision of the object; 0 if it is absent, None if not known."""
        try:
            actual = self._assumed.actual(name)
        except HeldInput:
            return None
        return 0 if actual is None else actual.revision

    def _stored(self, name: Name) -> Stored:
        """Reads the present references of the object."""
        assumed = self._assumed
        try:
            actual = assumed.actual(name)
        except HeldInput:
            actual = None
        return lambda relation: assumed.entries(actual, relation) if actual is not None else {}

    def are_due_to_drift(self, name: Name) -> bool:
        """Whether the next writes of the object repair another writer's change. True is answered once."""
        is_repair = name in self._drifted
        self._drifted.discard(name)
        return is_repair

    def note_right(self, plan: Plan) -> None:
        """The object needs nothing now, or only what ``plan`` waits for."""
        name = plan.name
        self._states.contended.release(name)
        if not plan.waits_for:
            revision = self._revision(name)
            if name in self._book:
                self._drift.stands(name, revision)
            elif revision == 0:
                self._drift.absent(name)
            else:
                self._drift.forget(name)

    def note_written(self, plan: Plan) -> None:
        """The permitted writes of a plan were made."""
        name = plan.name
        if not plan.waits_for and name in self._book and not self._objects.is_asked_again(name):
            # Changes that arrived during the write come first: the desired state may have changed.
            self._drift.stands(name, self._revision(name))
        if name not in self._book and plan.is_in_place and any(isinstance(made, Delete) for made in plan.operations):
            # Its parent is there, and it has no mark: ours are not in place once nobody claims them.
            self._drift.deleted(name)
        if name in self._states.contended:
            # What was left out of the plan is tried again after its back-off.
            self._objects.plan((name,))
