"""Plans each changed object from all claims on it, and passes the plan to ``Sender``.

One worker at a time plans an object; writes of different objects overlap up to a limit. Not every plan is written:
writes need permission, the object must not be paused by an operator, and contended parts are left out. ``planning``
makes the plan, ``sender`` sends it.
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
from .intent_states import PAUSED
from .log_fields import about
from .parts import Parts
from .sender import Sender
from .slices import Slice

_LOG = logging.getLogger(__name__)
_LAPSE = 0.5
"""Seconds until an object is planned again that could not be written for a moment, since the lease was uncertain or the
watch was not open."""


class Reconciler:
    """Serves the object queue.

    ``idle``: everything known has been evaluated; planning earlier could remove what the next evaluation claims again.
    ``on_create`` is called with each object and the origin in its mark before it is created, ``on_success`` with each
    object that is as its last plan wants it, ``on_change`` after each plan, written or not."""

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
        """The number of objects whose writes are under way."""
        return len(self._tasks)

    @property
    def reachable(self) -> bool:
        """Whether the API server answered the last request."""
        return self.throttle.reachable

    async def run(self) -> None:
        """Plan and write until cancelled. Raises ``Fenced`` if the server rejects our write in favour of another
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
        """Return when everything known is evaluated, the server may be asked, and there is room for a write.

        All three must hold together, since a plan must not become stale. Slots that become free together are taken
        together, so that their writes share a request; a semaphore would give out one per turn."""
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
        """Plan one object from the queue, and write it, in one go. While the server can't be reached, the object backs
        off. Raises ``Fenced``, as ``run`` does."""
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
        """The plan for one object now, without writes that must not be carried out."""
        parts = self._parts
        plan = parts.planner.plan(name)
        waited = parts.states.object_waits.get(name, frozenset())
        parts.states.note_object(name, plan.problems, plan.waits_for)
        for other in plan.waits_for:
            self._waiters.setdefault(other, set()).add(name)
        # Once per object: one with nothing to do wakes us, and queueing it again would never end.
        for other in sorted(plan.wakes - waited):
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
            # Nothing waits any longer for its deletion or creation: it stays as it is.
            self.wake((name,))

    def _permitted(self, plan: Plan) -> Plan:
        """The plan with the writes that are permitted now. The others are only reported."""
        parts, name = self._parts, plan.name
        states = parts.states
        if self._is_paused(name):
            states.planned.pop(name, None)
            return plan._replace(operations=())
        if not parts.permission.granted:
            states.planned[name] = plan.operations
            if not parts.permission.reasons:
                # The lease or the watch is uncertain right now, and no callback follows once it is certain again.
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
            _LOG.info("%s was changed by another writer; it is repaired", name, extra=about(parts, name))
        contention = parts.drift.contention(name)
        if contention is None:
            states.contended.release(name)
            return plan
        return self._without_contended(plan, contention, stored)

    def _without_contended(self, plan: Plan, contention: Contention, stored: Stored) -> Plan:
        """The plan without the parts of the object that other writers revert. Dropping references to an object that is
        to be deleted or replaced is exempt: it can't be reverted, and other plans wait for it."""
        parts, name = self._parts, plan.name
        waiting = self._waiters.get(name, set())
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
        if parts.states.contended.hold(name, Problem(name.kind, ":".join(name.fq_name), "Contended", message)):
            _LOG.warning("%s is left alone: %s", name, message, extra=about(parts, name))
        if not kept:
            parts.objects.retry(name, after=contention.rest)
            if not plan.waits_for:
                parts.drift.stands(name, self._revision(name))
        return plan._replace(operations=kept)

    def _revision(self, name: Name) -> int | None:
        """The present mod revision of the object; 0 if it is absent, None if not known."""
        try:
            actual = self._parts.assumed.actual(name)
        except HeldInput:
            return None
        return 0 if actual is None else actual.revision

    def _stored(self, name: Name) -> Stored:
        """Reads the present references of the object."""
        assumed = self._parts.assumed
        try:
            actual = assumed.actual(name)
        except HeldInput:
            actual = None
        return lambda relation: assumed.entries(actual, relation) if actual is not None else {}

    def _is_paused(self, name: Name) -> bool:
        """Whether an operator has paused the object, or the intent for which it was made."""
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
            # Changes that arrived during the write come first: the desired state may have changed.
            self._parts.drift.stands(name, self._revision(name))
        if contended:
            # What was left out of the plan is tried again after its back-off.
            self._parts.objects.add(name)
        self.wake((name,))

    def _succeeded(self, name: Name, *, but_for_contention: bool = False) -> None:
        """The object is as its last plan wants it: its next failure counts as the first."""
        self._parts.objects.forget(name)
        self._parts.states.wrote(name)
        if not but_for_contention:
            self._parts.states.contended.release(name)
        self.sender.forget(name)
        self._on_success(name)

    async def settle_assumed(self) -> None:
        """Read back what was written and not seen again in time; plan the differences again."""
        for name in await self.sender.expired():
            self._parts.objects.add(name)

    def wake(self, names: Iterable[Name]) -> None:
        """These objects were created, deleted or changed: plan the objects that wait for them."""
        if not self._waiters:
            return
        for waiter in sorted({waiter for name in names for waiter in self._waiters.pop(name, ())}):
            self._parts.objects.add(waiter)
