"""Plans one object, and leaves out the writes that must not be made now (step 7).

Not every plan is written: writes need permission, the object must not be paused, its status must not have been written
just now, and contended parts are left out (``drift``). ``planning/planner.py`` makes the plan, ``writes`` has it
carried out.

It records the state of each object: its problems, what it waits for, and what is planned but not permitted. It has the
planner record what a plan defers, and queues objects that must be planned first or again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..logic import LiveWorld
from ..model import Name, UpdateStatus
from ..planning import Plan, Planner
from ..planning.claims import LATER
from .drift import Drift, Repairs
from .objects import Objects
from .permission import Permission
from .state_tables import PAUSED, StateTables

_LOG = logging.getLogger(__name__)
_LAPSE = 0.5
"""Seconds until an object is planned again after the lease was uncertain or the watch was not open."""


class StatusPace:
    """Limits how often one object's status is written, since each write is an event for all its watchers.

    The first write is made at once. Further ones within the interval are left out of their plans, and the object is
    planned again at its end, so that the last status counts. ``interval``: seconds, 0 for no limit. ``clock``:
    seconds, monotonic.
    """

    def __init__(self, interval: float, clock: Callable[[], float]) -> None:
        self._interval = interval
        self._clock = clock
        self._written: dict[Name, float] = {}
        """In the order of the times."""
        self._left_out: set[Name] = set()

    def permitted(self, plan: Plan, objects: Objects, drift: Drift) -> Plan:
        """The plan without a status that was written just now. ``objects``: where the object is planned again;
        ``drift``: records that the later write is not a repair."""
        if not self._interval:
            return plan
        if not any(isinstance(operation, UpdateStatus) for operation in plan.operations):
            # The status is right, or the object is gone: a later write of it is not one that was left out.
            self._left_out.discard(plan.name)
            return plan
        name, now = plan.name, self._clock()
        if name in self._left_out:
            drift.meant((name,))
        self._forget(now)
        written = self._written.get(name)
        if written is None:
            self._left_out.discard(name)
            self._written[name] = now
            return plan
        self._left_out.add(name)
        objects.retry(name, after=written + self._interval - now)
        kept = tuple(operation for operation in plan.operations if not isinstance(operation, UpdateStatus))
        # What is left out may be a removal: the object is not as its plan wants it.
        return plan._replace(operations=kept, deferred=plan.deferred | {(name, LATER)})

    def _forget(self, now: float) -> None:
        """Forget what was written longer ago than the interval."""
        while self._written:
            name = next(iter(self._written))
            if now - self._written[name] < self._interval:
                return
            del self._written[name]


class ObjectPlanner:
    """Plans objects, and reports the plans that are not permitted."""

    def __init__(
        self,
        world: LiveWorld,
        planner: Planner,
        states: StateTables,
        permission: Permission,
        objects: Objects,
        repairs: Repairs,
        drift: Drift,
        status_pace: StatusPace,
    ) -> None:
        self._world = world
        self._planner = planner
        self._states = states
        self._permission = permission
        self._objects = objects
        self._repairs = repairs
        self._drift = drift
        self._status_pace = status_pace
        self._woken: dict[Name, frozenset[Name]] = {}
        """The objects that have been queued to drop their references to one that is to be deleted."""

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
        if self._is_paused(name):
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

    def _is_paused(self, name: Name) -> bool:
        """Whether an operator has paused the object, or the intent for which it was made."""
        states = self._states
        if name in states.left_alone:
            return True
        if not (states.left_if_ours or states.stopped):
            return False
        actual = self._planner.assumed.actual(name)
        if actual is None:
            wanted_by = self._planner.book.on(name)
            return bool(wanted_by) and all(PAUSED in states.stopped.get(key, ()) for key in wanted_by)
        if actual.mark is None:
            return False
        if name in states.left_if_ours:
            states.left_alone.hold(name, states.left_if_ours[name])
            return True
        origin = actual.mark.origin
        return any(
            key.uuid == origin and PAUSED in stops and self._world.exists(key) for key, stops in states.stopped.items()
        )


def make_pass(
    world: LiveWorld, planner: Planner, drift: Drift, objects: Objects, *, claimed_too: bool
) -> frozenset[Name]:
    """Queue and return every unclaimed object that is ours or carries something of ours. Runs after a listing was
    evaluated. ``claimed_too``: queue all claimed objects as well.

    The planner's guard withholds mass deletions."""
    book, guard = planner.book, planner.guard
    for key in world.held:
        if key.kind in world.intent_kinds:
            book.retain(key)
    found = planner.orphans()
    queued = found.union(book.names()) if claimed_too else found
    drift.meant(queued)
    objects.plan(sorted(queued), resync=True)
    if found:
        _LOG.info("pass complete: %d objects carry something of ours that nobody claims", len(found))
    for kind, names in sorted(guard.withheld.items()):
        _LOG.warning(
            "%d deletes of %s are withheld, since they are too many at once; if that is meant: "
            "`intentc allow-deletes %s`", len(names), kind, kind,
        )  # fmt: skip
    return found
