"""Takes changed objects from their queue, has each planned, and has the plan carried out (steps 7 and 8).

Each object is planned and written by one worker at a time; writes of different objects overlap up to a limit. A fault
of our own on the way of one object defers that object alone. ``object_planner`` decides what is written, ``sender``
sends it.

State: the writes under way, whether one has ended since ``ended`` returned, and until when the present slice of work
lasts. It changes the queue, the states of objects, ``marked_objects``, ``repairs``, ``write_failures`` and the throttle
by their methods.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from ..model import Create, Name
from ..planning import Plan
from .api_throttle import ApiThrottle
from .marked_objects import MarkedObjects
from .object_planner import ObjectPlanner
from .object_queue import ObjectQueue
from .repairs import Repairs
from .sender import Sender
from .slices import Slice
from .state_tables import StateTables
from .write_failures import WriteFailures


class Reconciler:
    """Serves the object queue. A worker calls ``serve_next`` and ``yield_to_loop`` in turn.

    ``planning``: set while plans may begin; an earlier plan could remove what the next evaluation claims again.
    ``in_flight``: the most objects whose writes may be under way at once."""

    def __init__(
        self,
        *,
        throttle: ApiThrottle[Name],
        states: StateTables,
        objects: ObjectQueue,
        object_planner: ObjectPlanner,
        repairs: Repairs,
        sender: Sender,
        failures: WriteFailures,
        marked: MarkedObjects,
        planning: asyncio.Event,
        in_flight: int,
    ) -> None:
        self._throttle = throttle
        self._states = states
        self._objects = objects
        self._object_planner = object_planner
        self._repairs = repairs
        self._sender = sender
        self._failures = failures
        self._marked = marked
        self._planning = planning
        self._most = in_flight
        self._room = asyncio.Event()
        self._room.set()
        self._ended = asyncio.Event()
        self._slice = Slice()
        self._tasks: dict[Name, asyncio.Task[None]] = {}

    @property
    def in_flight(self) -> int:
        """The number of objects whose writes are under way."""
        return len(self._tasks)

    @property
    def idle(self) -> bool:
        """Whether no write is under way, and ``ended`` has returned for those that were.

        What follows from the end of a write, such as an allocation to be freed, is queued by the caller of ``ended``.
        Until then nothing else shows that work is left."""
        return not self._tasks and not self._ended.is_set()

    async def serve_next(self) -> bool:
        """Wait for an object, and plan it. True if it needs a write now: that is begun, and ``ended`` returns after it.
        Raises ``Fenced`` if the server rejected a write of ours in favour of another process though we never claimed
        to lead: that write left it in ``write_failures``."""
        name = await self._objects.next()
        await self._may_plan()
        if self._failures.fenced is not None:
            self._objects.done(name)
            raise self._failures.fenced
        plan = self._plan(name)
        if not plan.operations:
            self._objects.done(name)
            return False
        self._throttle.spend(len(plan.operations))
        self._tasks[name] = asyncio.create_task(self._carry_out(plan), name=f"write {name}")
        return True

    async def ended(self) -> None:
        """Return once a write has ended since the last call."""
        await self._ended.wait()
        self._ended.clear()

    def yield_to_loop(self) -> Awaitable[None]:
        """Awaited after each object: let other tasks run if the slice is over."""
        return self._slice.rest()

    async def _may_plan(self) -> None:
        """Return when plans may begin, the server may be asked, and there is room for a write.

        All three must hold together, since a plan must not become stale. Slots that become free together are taken
        together, so that their writes share a request; a semaphore would give out one per turn."""
        while True:
            if not self._planning.is_set():
                await self._planning.wait()
            elif not self._throttle.free:
                await self._throttle.opened()
            elif len(self._tasks) >= self._most:
                self._room.clear()
                await self._room.wait()
            else:
                return

    async def serve(self, name: Name) -> None:
        """Plan one object that was taken from the queue, and write it, in one go. While the server can't be reached,
        the object backs off. Raises ``Fenced``, as ``serve_next`` does."""
        fenced = self._failures.fenced
        if fenced is not None or not (self._throttle.reachable or self._throttle.open):
            self._objects.retry(name)
            self._objects.done(name)
            if fenced is not None:
                raise fenced
            return
        plan = self._plan(name)
        if plan.operations:
            try:
                await self._carry_out(plan)
            finally:
                # The caller goes on with what follows; nobody waits for ``ended``.
                self._ended.clear()
        else:
            self._objects.done(name)

    async def drain(self) -> None:
        """Wait until no write is under way, when nobody calls ``ended`` any more."""
        while under_way := [task for task in self._tasks.values() if not task.done()]:
            await asyncio.wait(under_way)
        self._ended.clear()

    def _plan(self, name: Name) -> Plan:
        """The plan for one object now, without writes that must not be made. Empty if planning failed: then the object
        is deferred, since an exception would end the service."""
        try:
            plan = self._object_planner.plan(name)
            if plan.operations:
                plan = self._object_planner.permitted(plan)
                if not plan.operations:
                    self._failures.planned(name)
                for operation in plan.operations:
                    if isinstance(operation, Create):
                        # From now on its owner has it, so that no finalizer is removed before it.
                        self._marked.note(name, operation.mark.origin)
                return plan
            self._object_planner.note_right(plan)
            self._succeeded(plan)
            if not plan.waits_for:
                # Nothing waits any longer for its deletion or creation: it stays as it is.
                self._objects.wake((name,))
            return plan
        except Exception as error:
            self._failures.unexpected(name, error)
            return Plan(name)

    async def _carry_out(self, plan: Plan) -> None:
        """Write, and end the work on the object; defer it if that failed in any way: nobody would see an exception of
        the task."""
        try:
            drift = self._repairs.are_due_to_drift(plan.name)
            if await self._sender.carry_out(plan, drift=drift):
                self._throttle.answered(plan.name)
                self._succeeded(plan)
                self._repairs.note_written(plan)
                self._objects.wake((plan.name,))
            elif plan.name in self._states.rejected and not self._objects.is_asked_again(plan.name):
                # Of a rejected write, unlike of one without an answer, it is known that it changed nothing.
                self._marked.carried_out(plan, in_full=False)
        except Exception as error:
            self._failures.unexpected(plan.name, error)
        finally:
            self._tasks.pop(plan.name, None)
            self._room.set()
            self._objects.done(plan.name)
            self._ended.set()

    def _succeeded(self, plan: Plan) -> None:
        """The object is as its last plan wants it: its next failure counts as the first."""
        name = plan.name
        self._objects.forget(name)
        self._states.wrote(name)
        self._failures.forget(name)
        self._marked.carried_out(plan, in_full=name not in self._states.contended)
