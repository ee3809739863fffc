"""From dirty objects to the API server: plan one object from all claims on it, write, remember what was written.

One object is planned by one worker at a time; writes of different objects overlap up to a limit. What a failed write
means for the object is engine.md §6.3, here as one ``match``. The plan itself is ``planning``'s, the request
``writing``'s business.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from ..journal import Write
from ..model import (
    AddReference,
    Create,
    Delete,
    Key,
    Name,
    Operation,
    Problem,
    RemoveReference,
    Update,
)
from ..planning import Plan
from ..writing import (
    Conflict,
    Fenced,
    Rejected,
    Throttled,
    UnknownOutcome,
    Unreachable,
    WriteError,
    Written,
)
from .parts import Parts
from .slices import Slice

_LOG = logging.getLogger(__name__)
_ROUNDS = 3
"""Conflicts in a row after which an object backs off."""


class Reconciling:
    """Serves the object queue. ``calm`` says whether everything known has been evaluated: planning before that could
    remove what the next evaluation wants back. ``on_create`` is told of each object and the origin in its mark before
    it is created, ``on_success`` of each object that is as its last plan wants it, ``on_change`` of the end of each
    plan, written or not."""

    def __init__(
        self,
        parts: Parts,
        calm: asyncio.Event,
        *,
        in_flight: int,
        on_create: Callable[[Name, str], None],
        on_success: Callable[[Name], None],
        on_change: Callable[[], None],
    ) -> None:
        self._parts = parts
        self._on_create = on_create
        self._on_success = on_success
        self._slice = Slice()
        self._calm = calm
        self._most = in_flight
        self._room = asyncio.Event()
        self._room.set()
        self._on_change = on_change
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiters: dict[Name, set[Name]] = {}
        self._conflicts: dict[Name, int] = {}
        self._reachable = asyncio.Event()
        self._reachable.set()
        self._outage = 0
        self._fenced: Fenced | None = None
        self.written = 0
        self.last_revision = 0
        """The highest revision that an acknowledged write told; quiet is when the watch has come past it."""

    @property
    def in_flight(self) -> int:
        """Objects whose writes are under way."""
        return len(self._tasks)

    @property
    def reachable(self) -> bool:
        """Whether the API server answered the last time."""
        return self._reachable.is_set()

    async def run(self) -> None:
        """Plan and write for ever; ends by cancellation, or raises ``Fenced`` when another leads."""
        while True:
            name = await self._parts.objects.get()
            await self._may_plan()
            if self._fenced is not None:
                self._parts.objects.done(name)
                raise self._fenced
            plan = self._plan(name)
            if plan.operations and not self._parts.observe:
                task = asyncio.create_task(self._write(plan), name=f"write {name}")
                self._tasks.add(task)
                task.add_done_callback(self._written)
            else:
                self._parts.objects.done(name)
                self._on_change()
            await self._slice.rest()

    async def _may_plan(self) -> None:
        """Return when everything known is evaluated, the server can be reached, and there is room for a write: all at
        once, since the plan must not grow old. Places that become free together are taken together (a semaphore would
        give out one a turn), so that their writes share a request."""
        while True:
            if not self._calm.is_set():
                await self._calm.wait()
            elif not self._reachable.is_set():
                await self._reachable.wait()
            elif len(self._tasks) >= self._most:
                self._room.clear()
                await self._room.wait()
            else:
                return

    async def serve(self, name: Name) -> None:
        """Plan one object that was taken from the queue, and write, in one go. While the server can't be reached the
        object backs off. Raises ``Fenced``, as ``run`` does."""
        if self._fenced is not None or not self.reachable:
            self._parts.objects.retry(name)
            self._parts.objects.done(name)
            if self._fenced is not None:
                raise self._fenced
            return
        plan = self._plan(name)
        try:
            if plan.operations and not self._parts.observe:
                await self._carry_out(plan)
        finally:
            self._parts.objects.done(name)

    async def _write(self, plan: Plan) -> None:
        try:
            await self._carry_out(plan)
        finally:
            self._parts.objects.done(plan.name)

    def restored(self, revision: int) -> None:
        """The store was put back to ``revision``: what later ones told is void."""
        self.last_revision = min(self.last_revision, revision)

    def _written(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._room.set()
        self._on_change()

    async def drain(self) -> None:
        """Wait until no write is under way."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _plan(self, name: Name) -> Plan:
        parts = self._parts
        plan = parts.planner.plan(name)
        waited = parts.standing.object_waits.get(name, frozenset())
        parts.standing.note_object(name, plan.problems, plan.waits_for)
        for other in plan.waits_for:
            self._waiters.setdefault(other, set()).add(name)
        # Once each: one that has nothing to do wakes us, and stirring it again would go on for ever.
        for other in sorted(plan.stirs - waited):
            parts.objects.add(other)
        if not plan.operations:
            self._succeeded(name)
        if not plan.operations and not plan.waits_for:
            # Who waited for it to go, or to come, need wait no longer: it stays as it is.
            self.wake((name,))
        if parts.observe:
            if plan.operations:
                parts.standing.planned[name] = plan.operations
            else:
                parts.standing.planned.pop(name, None)
        return plan

    async def _carry_out(self, plan: Plan) -> None:
        try:
            await self._send_all(plan)
        except Exception as error:
            _LOG.exception("writing %s failed in a way that should not happen; it is tried again", plan.name)
            self._delay(plan.name, error)

    async def _send_all(self, plan: Plan) -> None:
        parts, name = self._parts, plan.name
        try:
            for operation in plan.operations:
                if isinstance(operation, Create):
                    self._on_create(name, operation.mark.origin)
                written = await self._send(operation)
                revision = written.revision if isinstance(written, Written) else None
                parts.assumed.wrote(operation, revision)
                parts.journal.wrote(Write(parts.logic.revision, name, type(operation).__name__, revision))
                self.written += 1
                self.last_revision = max(self.last_revision, revision or 0)
            self._outage = 0
            self._succeeded(name)
            self.wake((name,))
        except WriteError as error:
            await self._failed(plan, error)

    def _succeeded(self, name: Name) -> None:
        """The object is as its last plan wants it: its next failure is its first."""
        self._conflicts.pop(name, None)
        self._parts.objects.forget(name)
        self._parts.standing.wrote(name)
        self._on_success(name)

    async def _send(self, operation: Operation) -> Written:
        write, fence = self._parts.write, self._parts.fence()
        match operation:
            case Create():
                return await write.create(operation, fence)
            case Update():
                return await write.update(operation, fence)
            case Delete():
                return await write.delete(operation, fence)
            case AddReference():
                return await write.add_ref(operation, fence)
            case RemoveReference():
                return await write.remove_ref(operation, fence)

    async def _failed(self, plan: Plan, error: WriteError) -> None:
        """What each outcome means for the object."""
        parts, name = self._parts, plan.name
        match error:
            case Fenced():
                self._fenced = error
                parts.objects.add(name)
            case Conflict() | UnknownOutcome():
                await self._read_back(plan)
                rounds = self._conflicts[name] = self._conflicts.get(name, 0) + 1
                if rounds < _ROUNDS:
                    parts.objects.add(name)
                else:
                    self._delay(name, error)
            case Throttled(retry_after=seconds):
                self._delay(name, error, after=seconds)
            case Unreachable():
                parts.objects.add(name)
                self._back_off(error)
            case Rejected():
                self._refuse(name, error)
                parts.objects.retry(name)
            case _:
                self._delay(name, error)

    def _delay(self, name: Name, error: Exception, *, after: float | None = None) -> None:
        """Try again by and by, and say so."""
        message = f"its last write failed ({error}); it is tried again"
        self._parts.standing.refused.release(name)
        if self._parts.standing.delayed.hold(name, Problem(name.kind, ":".join(name.fq_name), "Delayed", message)):
            _LOG.info("%s: %s", name, message)
        self._parts.objects.retry(name, after=after)

    def _refuse(self, name: Name, error: Rejected) -> None:
        problem = Problem(name.kind, ":".join(name.fq_name), "Refused", f"the API server refuses it: {error}")
        self._parts.standing.delayed.release(name)
        if self._parts.standing.refused.hold(name, problem):
            _LOG.warning("%s: %s", name, problem.message)

    def _back_off(self, error: Unreachable) -> None:
        """The whole server is backed off: nobody writes until the pause is over."""
        if not self._reachable.is_set():
            return
        self._outage += 1
        pause = min(0.1 * 2**self._outage, 10.0)
        _LOG.warning("the API server can't be reached (%s); next try in %.1f s", error, pause)
        self._reachable.clear()
        asyncio.get_running_loop().call_later(pause, self._reachable.set)

    async def _read_back(self, plan: Plan) -> None:
        """Read the object, its name and its targets as the server has them now, for the next plan."""
        parts = self._parts
        wanted: dict[Key, Name] = {}
        for operation in plan.operations:
            wanted[operation.key] = operation.name
            for target in _targets(operation):
                wanted[target] = Name(target.kind, ())
        try:
            holder = await parts.read.identify(plan.name)
            if holder is not None:
                wanted[holder] = plan.name
            for key in wanted:
                parts.assumed.read_back(key, await parts.read.read(key))
        except WriteError as error:
            _LOG.info("reading back %s: %s", plan.name, error)

    async def settle_assumed(self) -> None:
        """Read what was written, and not seen again in time; a difference is planned again."""
        parts = self._parts
        for key, name in parts.assumed.expired():
            try:
                parts.assumed.read_back(key, await parts.read.read(key))
            except WriteError as error:
                _LOG.info("reading back %s: %s", name, error)
                return
            parts.objects.add(name)

    def wake(self, names: Iterable[Name]) -> None:
        """These objects came, went or changed: plan again who waited for them."""
        for waiter in sorted({waiter for name in names for waiter in self._waiters.pop(name, ())}):
            self._parts.objects.add(waiter)


def _targets(operation: Operation) -> tuple[Key, ...]:
    """The objects to which a write refers."""
    match operation:
        case Create() | Update():
            parent = (operation.parent.key,) if isinstance(operation, Create) and operation.parent else ()
            return parent + tuple(entry.key for entries in operation.references.values() for entry in entries)
        case AddReference(target=target):
            return (target.key,)
        case RemoveReference(target=key):
            return (key,)
        case Delete():
            return ()
