"""Plans changed objects and writes what they need (steps 7 and 8).

Each object is planned and written once at a time; writes of different objects overlap up to a limit. An internal error
with one object defers only that object. ``object_planner`` decides what is written, ``write_failures`` what a failure
means; ``writing`` makes the requests. All writes of objects pass here; ``allocations`` sends its own.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from .. import crashpoints
from ..journal import Journal, Write
from ..logic import LiveWorld
from ..model import (
    AddReference,
    Create,
    Delete,
    Name,
    Operation,
    RemoveReference,
    Update,
    UpdateStatus,
    verb,
    written_fields,
)
from ..planning import Assumed, Plan
from ..reconcile import Loop
from ..reconcile.failures import Failure, Fenced, Rejected
from ..writing import WriteService, Written
from .api_throttle import ApiThrottle
from .drift import Repairs
from .log_fields import LogFields
from .marked_objects import MarkedObjects
from .object_planner import ObjectPlanner
from .objects import Objects
from .permission import Permission
from .phases import Phases
from .state_tables import StateTables
from .write_failures import WriteFailures

_LOG = logging.getLogger(__name__)


class Sender:
    """Sends the writes of a plan in order, and keeps what was written."""

    def __init__(
        self,
        world: LiveWorld,
        assumed: Assumed,
        writer: WriteService,
        journal: Journal,
        permission: Permission,
        throttle: ApiThrottle,
        log_fields: LogFields,
    ) -> None:
        self._world = world
        self._assumed = assumed
        self._writer = writer
        self._journal = journal
        self._permission = permission
        self._throttle = throttle
        self._log_fields = log_fields
        self._restorations = 0
        self.fenced: Fenced | None = None
        """Set if the server rejected our write because another process leads, although we never claimed to lead."""
        self.written = 0
        """Acknowledged writes."""
        self.last_revision = 0
        """The highest revision that an acknowledged write reported; the engine is quiet once the watch has passed it.
        """

    def restored(self, revision: int) -> None:
        """The store was restored to ``revision``: later revisions, and those in answers under way, are void."""
        self.last_revision = min(self.last_revision, revision)
        self._restorations += 1

    def expect_no_echo(self) -> None:
        """What has no echo was read: a restored store may never reach the reported revision."""
        self.last_revision = min(self.last_revision, self._world.revision)

    async def carry_out(self, plan: Plan, *, drift: bool) -> bool:
        """Send the writes of a plan. False if the object must be planned again, since the rest can't be sent now.
        ``drift``: whether they repair another writer's change. Raises ``Failure``."""
        for number, operation in enumerate(plan.operations):
            if number and self._throttle.seconds:
                return False
            warrant = self._permission.warrant()
            if warrant is None:
                # Permission was withdrawn since: the next plan reports what the object would need.
                return False
            restorations = self._restorations
            try:
                written = await self._send(operation, warrant.fence)
            except Fenced as error:
                if self._permission.fenced(error, warrant.fence):
                    return False
                self.fenced = error
                raise
            crashpoints.reach(f"{verb(operation)}.answered")
            revision = written.revision if isinstance(written, Written) else None
            if self._assumed.wrote(operation, revision):
                crashpoints.reach("echo.seen")
            self._note_written(operation, revision, drift=drift)
            if restorations == self._restorations:
                self.last_revision = max(self.last_revision, revision or 0)
        return True

    def _note_written(self, operation: Operation, revision: int | None, *, drift: bool) -> None:
        name = operation.name
        self._journal.wrote(
            Write(
                revision=self._world.revision,
                name=name,
                operation=verb(operation),
                written=revision,
                drift=drift,
                uuid=operation.key.uuid,
                fields=written_fields(operation),
            )
        )
        if _LOG.isEnabledFor(logging.DEBUG):
            extra = {**self._log_fields.about(name), "written": revision}
            _LOG.debug("written: %s %s", verb(operation), name, extra=extra)
        self.written += 1

    def _send(self, operation: Operation, fence: str | None) -> Awaitable[Written]:
        write = self._writer
        match operation:
            case Create():
                return write.create(operation, fence)
            case Update():
                return write.update(operation, fence)
            case Delete():
                return write.delete(operation, fence)
            case AddReference():
                return write.add_ref(operation, fence)
            case RemoveReference():
                return write.remove_ref(operation, fence)
            case UpdateStatus():
                return write.update_status(operation, fence)


class Writes:
    """The loop over the objects. ``in_flight``: the most objects whose writes may be under way at once."""

    def __init__(
        self,
        phases: Phases,
        throttle: ApiThrottle,
        states: StateTables,
        objects: Objects,
        object_planner: ObjectPlanner,
        repairs: Repairs,
        sender: Sender,
        failures: WriteFailures,
        marked: MarkedObjects,
        *,
        in_flight: int,
        on_end: Callable[[], None],
    ) -> None:
        self._phases = phases
        self._throttle = throttle
        self._states = states
        self._objects = objects
        self._object_planner = object_planner
        self._repairs = repairs
        self._sender = sender
        self._failures = failures
        self._marked = marked
        self.loop: Loop[Name] = Loop(
            self._reconcile,
            name="write",
            queue=objects,
            workers=in_flight,
            gate=self._gate,
            pause=throttle,
            on_failure=self._note_failure,
            on_end=on_end,
        )

    def _gate(self) -> float:
        """Plans must be allowed and the server ready at the same time, since a plan must not become stale."""
        return self._throttle.gate() if self._phases.may_plan else math.inf

    def _note_failure(self, name: Name, error: Exception) -> None:
        if isinstance(error, Fenced):
            # Nothing here can repair it, wherever it was raised: the engine ends.
            raise error
        self._failures.note(name, error)

    def _reconcile(self, name: Name) -> Coroutine[Any, Any, None] | None:
        if self._sender.fenced is not None:
            raise self._sender.fenced
        plan = self._object_planner.plan(name)
        if plan.operations:
            plan = self._object_planner.permitted(plan)
            if not plan.operations:
                self._failures.planned(name)
                return None
            for operation in plan.operations:
                if isinstance(operation, Create):
                    # From now on its owner has it, so that no finalizer is removed before it.
                    self._marked.marks.note(name, operation.mark.origin)
            self._throttle.spend(len(plan.operations))
            return self._carry_out(plan)
        self._object_planner.note_right(plan)
        self._succeeded(plan)
        if not plan.waits_for:
            # Nothing waits any longer for its deletion or creation: it stays as it is.
            self._objects.wake((name,))
        return None

    async def _carry_out(self, plan: Plan) -> None:
        name = plan.name
        try:
            if not await self._sender.carry_out(plan, drift=self._repairs.are_due_to_drift(name)):
                self._objects.plan((name,))
                return
        except Failure as error:
            if await self._failures.read_again(plan, error):
                return
            if isinstance(error, Rejected) and not self._objects.asked_again(name):
                # A rejected write, unlike one without an answer, is known to have changed nothing.
                self._marked.carried_out(plan, in_full=False)
            raise
        self._throttle.accepted(name)
        self._succeeded(plan)
        self._repairs.note_written(plan)
        self._objects.wake((name,))

    def _succeeded(self, plan: Plan) -> None:
        """The object is as its last plan wants it."""
        name = plan.name
        self._states.wrote(name)
        self._failures.forget(name)
        self._marked.carried_out(plan, in_full=name not in self._states.contended)
