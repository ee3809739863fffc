"""Limits how often the status of one object is written, since each write wakes everybody who watches the object.

The first write is made at once. Further ones within the interval are left out of their plans, and the object is planned
again at its end, so that the last status counts. ``object_planner`` passes each permitted plan through here.

State, in memory: when each status was written last, and which objects have a write left out.
"""

from __future__ import annotations

from collections.abc import Callable

from ..model import Name, UpdateStatus
from ..planning import Plan
from ..planning.claims import LATER
from .drift import Drift
from .object_queue import ObjectQueue


class StatusPace:
    """``interval``: seconds between two writes of one object's status, 0 for none. ``clock``: seconds, monotonic."""

    def __init__(self, interval: float, clock: Callable[[], float]) -> None:
        self._interval = interval
        self._clock = clock
        self._written: dict[Name, float] = {}
        """In the order of the times."""
        self._left_out: set[Name] = set()

    def permitted(self, plan: Plan, objects: ObjectQueue, drift: Drift) -> Plan:
        """The plan without a status that was written just now. ``objects``: where the object is planned again;
        ``drift``: is shown that what is then written is no repair."""
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
