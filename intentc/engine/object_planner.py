"""Plans one object, and leaves out the writes that must not be made now (step 7).

Not every plan is written: writes need permission, the object must not be paused (``pauses``), its status must not have
been written just now (``status_pace``), and contended parts are left out (``repairs``). ``planning/planner.py`` makes
the plan, ``reconciler`` has it carried out.

It notes in the states of objects their problems, what they wait for, and what is planned but not permitted; has the
planner note what a plan defers; queues objects that must be planned first or again; and has ``pauses``, ``status_pace``
and ``repairs`` note theirs. State: which objects were asked to drop their references to one that is to be deleted.
"""

from __future__ import annotations

from ..model import Name
from ..planning import Plan, Planner
from .drift import Drift
from .object_queue import ObjectQueue
from .pauses import Pauses
from .permission import Permission
from .repairs import Repairs
from .state_tables import StateTables
from .status_pace import StatusPace

_LAPSE = 0.5
"""Seconds until an object is planned again that could not be written for a moment, since the lease was uncertain or the
watch was not open."""


class ObjectPlanner:
    """Plans objects, and reports the plans that are not permitted."""

    def __init__(
        self,
        *,
        planner: Planner,
        states: StateTables,
        permission: Permission,
        objects: ObjectQueue,
        pauses: Pauses,
        repairs: Repairs,
        drift: Drift,
        status_pace: StatusPace,
    ) -> None:
        self._planner = planner
        self._states = states
        self._permission = permission
        self._objects = objects
        self._pauses = pauses
        self._repairs = repairs
        self._drift = drift
        self._status_pace = status_pace
        self._woken: dict[Name, frozenset[Name]] = {}

    def plan(self, name: Name) -> Plan:
        """The plan for one object now: what it needs, permitted or not."""
        plan = self._planner.plan(name)
        self._planner.note(plan)
        self._states.note_object(name, plan.problems, plan.waits_for)
        self._objects.wait_for(name, plan.waits_for)
        # Once per object: one with nothing to do wakes us, and queueing it again would never end.
        woken = self._woken.pop(name, frozenset())
        if plan.wakes:
            self._woken[name] = plan.wakes
            self._objects.plan(sorted(plan.wakes - woken))
        for other, _ in plan.deferred:
            # What keeps this object's reference to it will end, and then it must ask once more.
            self._woken.pop(other, None)
        return plan

    def permitted(self, plan: Plan) -> Plan:
        """The plan with the writes that are permitted now. The others are only reported."""
        name, states = plan.name, self._states
        if self._pauses.cover(name):
            states.planned.pop(name, None)
            return plan._replace(operations=())
        if not self._permission.granted:
            states.planned[name] = plan.operations
            if not self._permission.withheld_for:
                # The lease or the watch is uncertain right now, and nothing queues it once it is certain again.
                self._objects.retry(name, after=_LAPSE)
            return plan._replace(operations=())
        states.planned.pop(name, None)
        return self._repairs.permitted(self._status_pace.permitted(plan, self._objects, self._drift))

    def note_right(self, plan: Plan) -> None:
        """The object needs nothing now, or only what ``plan`` waits for."""
        self._states.planned.pop(plan.name, None)
        self._repairs.note_right(plan)
