"""From dirty objects to plans: one object is planned from all claims on it, and what it needs is handed to be sent.

One object is planned by one worker at a time; writes of different objects overlap up to a limit. Not everything that
is planned is written: there must be permission, the object must not be paused by an operator, and parts of it that are
in contention are left out. The plan itself is ``planning``'s, sending it ``sender``'s business.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from ..model import HeldInput, Name, Problem
from ..planning import Plan
from ..planning.claims import Item
from ..planning.items import Stored, items, without
from .api_throttle import ApiThrottle
from .drift import Contention
from .log_fields import about
from .operator_actions import PAUSED
from .parts import Parts
from .sender import Sender
from .slices import Slice

_LOG = logging.getLogger(__name__)
_LAPSE = 0.5
"""Seconds until an object is looked at again that could not be written for a moment: the lease was not surely held, or
the watch not open."""


class Reconciler:
    """Serves the object queue. ``idle`` says whether everything known has been evaluated: planning before that could
    remove what the next evaluation wants back. ``on_create`` is told of each object and the origin in its mark before
    it is created, ``on_success`` of each object that is as its last plan wants it, ``on_change`` of the end of each
    plan, written or not."""

    def __init__(
        self,
        parts: Parts,
        idle: asyncio.Event,
        *,
        in_flight: int,
        on_create: Callable[[Name, str], None],
        on_success: Callable[[Name], None],
        on_change: Callable[[], None],
    ) -> None:
        self._parts = parts
        self._on_success = on_success
        self._slice = Slice()
        self._idle = idle
        self._most = in_flight
        self._room = asyncio.Event()
        self._room.set()
        self._on_change = on_change
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiters: dict[Name, set[Name]] = {}
        self.throttle: ApiThrottle[Name] = parts.throttle
        self.sender = Sender(parts, on_create=on_create, on_success=self._carried_out)

    @property
    def in_flight(self) -> int:
        """Objects whose writes are under way."""
        return len(self._tasks)

    @property
    def reachable(self) -> bool:
        """Whether the API server answered the last time."""
        return self.throttle.reachable

    async def run(self) -> None:
        """Plan and write for ever; ends by cancellation, or raises ``Fenced`` if the server refuses us for another
        compiler though we never claimed to lead."""
        while True:
            name = await self._parts.objects.get()
            await self._may_plan()
            if self.sender.fenced is not None:
                self._parts.objects.done(name)
                raise self.sender.fenced
            plan = self._plan(name)
            if plan.operations:
                self.throttle.spend(len(plan.operations))
                task = asyncio.create_task(self._write(plan), name=f"write {name}")
                self._tasks.add(task)
                task.add_done_callback(self._written)
            else:
                self._parts.objects.done(name)
                self._on_change()
            await self._slice.rest()

    async def _may_plan(self) -> None:
        """Return when everything known is evaluated, the server may be asked, and there is room for a write: all at
        once, since the plan must not grow old. Places that become free together are taken together (a semaphore would
        give out one a turn), so that their writes share a request."""
        while True:
            if not self._idle.is_set():
                await self._idle.wait()
            elif not self.throttle.free:
                await self.throttle.opened()
            elif len(self._tasks) >= self._most:
                self._room.clear()
                await self._room.wait()
            else:
                return

    async def serve(self, name: Name) -> None:
        """Plan one object that was taken from the queue, and write, in one go. While the server can't be reached the
        object backs off. Raises ``Fenced``, as ``run`` does."""
        fenced = self.sender.fenced
        if fenced is not None or not (self.reachable or self.throttle.open):
            self._parts.objects.retry(name)
            self._parts.objects.done(name)
            if fenced is not None:
                raise fenced
            return
        plan = self._plan(name)
        try:
            if plan.operations:
                await self.sender.carry_out(plan)
        finally:
            self._parts.objects.done(name)

    async def _write(self, plan: Plan) -> None:
        try:
            await self.sender.carry_out(plan)
        finally:
            self._parts.objects.done(plan.name)

    def _written(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._room.set()
        self._on_change()

    async def drain(self) -> None:
        """Wait until no write is under way."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _plan(self, name: Name) -> Plan:
        """What is to be done about one object now; a plan that must not be carried out comes back without writes."""
        parts = self._parts
        plan = parts.planner.plan(name)
        waited = parts.states.object_waits.get(name, frozenset())
        parts.states.note_object(name, plan.problems, plan.waits_for)
        for other in plan.waits_for:
            self._waiters.setdefault(other, set()).add(name)
        # Once each: one that has nothing to do wakes us, and stirring it again would go on for ever.
        for other in sorted(plan.stirs - waited):
            parts.objects.add(other)
        if not plan.operations:
            self._is_right(plan)
            return plan
        return self._permitted(plan)

    def _is_right(self, plan: Plan) -> None:
        """The object needs nothing now."""
        name = plan.name
        self._parts.states.planned.pop(name, None)
        self._succeeded(name)
        if not plan.waits_for:
            if name in self._parts.book:
                self._parts.drift.stands(name, self._revision(name))
            else:
                self._parts.drift.forget(name)
            # Who waited for it to go, or to come, need wait no longer: it stays as it is.
            self.wake((name,))

    def _permitted(self, plan: Plan) -> Plan:
        """The plan with the writes that may be made now. What is not written is only reported."""
        parts, name = self._parts, plan.name
        states = parts.states
        if self._is_paused(name):
            states.planned.pop(name, None)
            return plan._replace(operations=())
        if not parts.permission.granted:
            states.planned[name] = plan.operations
            if not parts.permission.reasons:
                # Lease or watch are not sure at this moment, and may be in the next, without anybody telling.
                parts.objects.retry(name, after=_LAPSE)
            return plan._replace(operations=())
        states.planned.pop(name, None)
        if name not in parts.book:
            parts.drift.forget(name)
        if name not in parts.drift:
            return plan
        stored = self._stored(name)
        changed = frozenset[Item]().union(*(items(operation, stored) for operation in plan.operations))
        if parts.drift.differs(name, self._revision(name), changed):
            self.sender.drifted.add(name)
            _LOG.info("%s was changed by somebody else; it is put right", name, extra=about(parts, name))
        contention = parts.drift.contention(name)
        if contention is None:
            states.contended.release(name)
            return plan
        return self._without_contended(plan, contention, stored)

    def _without_contended(self, plan: Plan, contention: Contention, stored: Stored) -> Plan:
        """The plan without the parts of the object that other writers set back. Letting go of what is to be deleted or
        replaced is no matter of contention: nobody can set that back, and others wait for it."""
        parts, name = self._parts, plan.name
        waiting = self._waiters.get(name, set())
        left_alone = {item for item in contention.items if isinstance(item, str) or item[1] not in waiting}
        left = [without(operation, left_alone, stored) for operation in plan.operations]
        kept = tuple(operation for operation in left if operation is not None)
        if kept == plan.operations:
            return plan
        message = (
            f"{', '.join(contention.fields)}: another writer sets it back again and again, and once more would change "
            "nothing; find who else writes it. It is tried again by and by, or at once after `intentc quarantine retry`"
        )
        if parts.states.contended.hold(name, Problem(name.kind, ":".join(name.fq_name), "Contended", message)):
            _LOG.warning("%s is left alone: %s", name, message, extra=about(parts, name))
        if not kept:
            parts.objects.retry(name, after=contention.rest)
            if not plan.waits_for:
                parts.drift.stands(name, self._revision(name))
        return plan._replace(operations=kept)

    def _revision(self, name: Name) -> int | None:
        """At which mod revision the object is now; 0 if it is not there, None if that is not known."""
        try:
            actual = self._parts.assumed.actual(name)
        except HeldInput:
            return None
        return 0 if actual is None else actual.revision

    def _stored(self, name: Name) -> Stored:
        """What reads the references of the object as they are now."""
        assumed = self._parts.assumed
        try:
            actual = assumed.actual(name)
        except HeldInput:
            actual = None
        return lambda relation: assumed.entries(actual, relation) if actual is not None else {}

    def _is_paused(self, name: Name) -> bool:
        """Whether an operator has paused the object, or the intent in whose name it was made."""
        parts, states = self._parts, self._parts.states
        if name in states.left_alone:
            return True
        if not (states.left_if_ours or states.stopped):
            return False
        actual = parts.assumed.actual(name)
        if actual is None:
            wanted_by = parts.book.on(name)
            return bool(wanted_by) and all(PAUSED in states.stopped.get(key, ()) for key in wanted_by)
        if actual.mark is None:
            return False
        if name in states.left_if_ours:
            states.left_alone.hold(name, states.left_if_ours[name])
            return True
        origin = actual.mark.origin
        return any(
            key.uuid == origin and PAUSED in stops and parts.logic.exists(key) for key, stops in states.stopped.items()
        )

    def _carried_out(self, plan: Plan) -> None:
        name = plan.name
        contended = name in self._parts.states.contended
        self._succeeded(name, but_for_contention=contended)
        if not plan.waits_for and name in self._parts.book and not self._parts.objects.asked_again(name):
            # What has changed while it was written is looked at first: something else may be wanted now.
            self._parts.drift.stands(name, self._revision(name))
        if contended:
            # What was left out of the plan is tried again when its time has come.
            self._parts.objects.add(name)
        self.wake((name,))

    def _succeeded(self, name: Name, *, but_for_contention: bool = False) -> None:
        """The object is as its last plan wants it: its next failure is its first."""
        self._parts.objects.forget(name)
        self._parts.states.wrote(name)
        if not but_for_contention:
            self._parts.states.contended.release(name)
        self.sender.forget(name)
        self._on_success(name)

    async def settle_assumed(self) -> None:
        """Read what was written, and not seen again in time; a difference is planned again."""
        for name in await self.sender.expired():
            self._parts.objects.add(name)

    def wake(self, names: Iterable[Name]) -> None:
        """These objects came, went or changed: plan again who waited for them."""
        if not self._waiters:
            return
        for waiter in sorted({waiter for name in names for waiter in self._waiters.pop(name, ())}):
            self._parts.objects.add(waiter)
