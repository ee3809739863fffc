"""Plans one object, and leaves out the writes that must not be made now (step 7).

Not every plan is written: writes need permission, the object must not be paused by an operator, and contended parts are
left out. ``planning`` makes the plan, ``reconciler`` has it carried out.
"""

from __future__ import annotations

import logging

from ..logic import Service
from ..model import HeldInput, Name, Problem
from ..planning import Assumed, ClaimBook, Plan, Planner
from ..planning.claims import Item
from ..planning.items import Stored, items, without
from .drift import Contention, Drift
from .intent_states import PAUSED, IntentStates
from .log_fields import LogFields
from .object_queue import ObjectQueue
from .permission import Permission

_LOG = logging.getLogger(__name__)
_LAPSE = 0.5
"""Seconds until an object is planned again that could not be written for a moment, since the lease was uncertain or the
watch was not open."""


class ObjectPlanner:
    """Plans objects, and keeps what others change of them, and whether they are as they should be."""

    def __init__(
        self,
        *,
        logic: Service,
        book: ClaimBook,
        assumed: Assumed,
        planner: Planner,
        states: IntentStates,
        permission: Permission,
        drift: Drift,
        objects: ObjectQueue,
        log_fields: LogFields,
    ) -> None:
        self._logic = logic
        self._book = book
        self._assumed = assumed
        self._planner = planner
        self._states = states
        self._permission = permission
        self._drift = drift
        self._objects = objects
        self._log_fields = log_fields
        self._drifted: set[Name] = set()

    def plan(self, name: Name) -> Plan:
        """The plan for one object now: what it needs, permitted or not."""
        plan = self._planner.plan(name)
        waited = self._states.object_waits.get(name, frozenset())
        self._states.note_object(name, plan.problems, plan.waits_for)
        self._objects.wait_for(name, plan.waits_for)
        # Once per object: one with nothing to do wakes us, and queueing it again would never end.
        self._objects.plan(sorted(plan.wakes - waited))
        return plan

    def permitted(self, plan: Plan) -> Plan:
        """The plan with the writes that are permitted now. The others are only reported."""
        name, states, drift = plan.name, self._states, self._drift
        if self._is_paused(name):
            states.planned.pop(name, None)
            return plan._replace(operations=())
        if not self._permission.granted:
            states.planned[name] = plan.operations
            if not self._permission.reasons:
                # The lease or the watch is uncertain right now, and nothing queues it once it is certain again.
                self._objects.retry(name, after=_LAPSE)
            return plan._replace(operations=())
        states.planned.pop(name, None)
        if name not in self._book:
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
            states.contended.release(name)
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
            "change nothing; find the other writer. It is retried with back-off, or at once after "
            "`intentc quarantine retry`"
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

    def _is_paused(self, name: Name) -> bool:
        """Whether an operator has paused the object, or the intent for which it was made."""
        states = self._states
        if name in states.left_alone:
            return True
        if not (states.left_if_ours or states.stopped):
            return False
        actual = self._assumed.actual(name)
        if actual is None:
            wanted_by = self._book.on(name)
            return bool(wanted_by) and all(PAUSED in states.stopped.get(key, ()) for key in wanted_by)
        if actual.mark is None:
            return False
        if name in states.left_if_ours:
            states.left_alone.hold(name, states.left_if_ours[name])
            return True
        origin = actual.mark.origin
        return any(
            key.uuid == origin and PAUSED in stops and self._logic.exists(key) for key, stops in states.stopped.items()
        )

    def repairs_drift(self, name: Name) -> bool:
        """Whether the next write of the object repairs another writer's change. True is answered once."""
        is_repair = name in self._drifted
        self._drifted.discard(name)
        return is_repair

    def note_right(self, plan: Plan) -> None:
        """The object needs nothing now, or only what ``plan`` waits for."""
        name = plan.name
        self._states.planned.pop(name, None)
        self._states.contended.release(name)
        if not plan.waits_for:
            if name in self._book:
                self._drift.stands(name, self._revision(name))
            else:
                self._drift.forget(name)

    def note_written(self, plan: Plan) -> None:
        """The permitted writes of a plan were made."""
        name = plan.name
        if not plan.waits_for and name in self._book and not self._objects.is_asked_again(name):
            # Changes that arrived during the write come first: the desired state may have changed.
            self._drift.stands(name, self._revision(name))
        if name in self._states.contended:
            # What was left out of the plan is tried again after its back-off.
            self._objects.plan((name,))
