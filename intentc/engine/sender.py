"""Sends the writes of a plan to the API server in order, and handles each outcome (step 8).

What a failed write means is docs/engine.md §6.3, here as one ``match``. ``reconciler`` decides when an object is
planned, ``object_planner`` what may be written; ``writing`` makes the requests.
"""

from __future__ import annotations

import logging

from .. import crashpoints
from ..journal import Journal, Write
from ..logic import Service
from ..model import AddReference, Create, Delete, Name, Operation, Problem, RemoveReference, Update, verb
from ..planning import Assumed, Plan
from ..writing import (
    Conflict,
    Fenced,
    Rejected,
    Throttled,
    UnknownOutcome,
    Unreachable,
    WriteError,
    WriteService,
    Written,
)
from .api_throttle import ApiThrottle
from .carriers import Carriers
from .drift import fields
from .intent_states import IntentStates
from .log_fields import LogFields
from .object_queue import ObjectQueue
from .permission import Permission
from .read_back import ReadBack

_LOG = logging.getLogger(__name__)
_ROUNDS = 3
"""Conflicts in a row after which an object backs off."""


class Sender:
    """Carries plans out, and queues the objects whose plans failed."""

    def __init__(
        self,
        *,
        logic: Service,
        assumed: Assumed,
        write: WriteService,
        journal: Journal,
        states: IntentStates,
        permission: Permission,
        throttle: ApiThrottle[Name],
        objects: ObjectQueue,
        carriers: Carriers,
        read_back: ReadBack,
        log_fields: LogFields,
    ) -> None:
        self._logic = logic
        self._assumed = assumed
        self._write = write
        self._journal = journal
        self._states = states
        self._permission = permission
        self._throttle = throttle
        self._objects = objects
        self._carriers = carriers
        self._read_back = read_back
        self._log_fields = log_fields
        self._conflicts: dict[Name, int] = {}
        self.fenced: Fenced | None = None
        """Set if the server rejected us in favour of another compiler though we never claimed to lead."""
        self._restorations = 0
        self.written = 0
        self.last_revision = 0
        """The highest revision that an acknowledged write reported; the engine is quiet once the watch has passed it.
        """

    def restored(self, revision: int) -> None:
        """The store was restored to ``revision``: later revisions, and those in answers under way, are void."""
        self.last_revision = min(self.last_revision, revision)
        self._restorations += 1

    def expect_no_echo(self) -> None:
        """What has no echo was read: a restored store may never reach the reported revision."""
        self.last_revision = min(self.last_revision, self._logic.revision)

    def forget(self, name: Name) -> None:
        """The object is as it should be: its next conflict counts as the first."""
        self._conflicts.pop(name, None)

    async def carry_out(self, plan: Plan, *, drift: bool) -> bool:
        """Send the writes of a plan. True if all of them are carried out; else the object is queued again, or held and
        reported. ``drift``: whether they repair another writer's change. Never raises."""
        try:
            return await self._send_all(plan, drift=drift)
        except Exception as error:
            _LOG.exception(
                "writing %s failed unexpectedly; it is tried again",
                plan.name,
                extra=self._log_fields.about(plan.name),
            )
            self._delay(plan.name, error)
            return False

    async def _send_all(self, plan: Plan, *, drift: bool) -> bool:
        name, throttle = plan.name, self._throttle
        fence: str | None = None
        try:
            for number, operation in enumerate(plan.operations):
                if number and not throttle.open:
                    self._objects.retry(name, after=throttle.closed_for)
                    return False
                warrant = self._permission.warrant()
                if warrant is None:
                    # Permission was withdrawn since: the object is planned again, to report what it would need.
                    self._objects.plan((name,))
                    return False
                fence, restorations = warrant.fence, self._restorations
                if isinstance(operation, Create):
                    self._carriers.note(name, operation.mark.origin)
                written = await self._send(operation, fence)
                crashpoints.reach(_ANSWERED[type(operation)])
                revision = written.revision if isinstance(written, Written) else None
                if self._assumed.wrote(operation, revision):
                    crashpoints.reach("echo.seen")
                self._note_written(operation, revision, drift=drift)
                if restorations == self._restorations:
                    self.last_revision = max(self.last_revision, revision or 0)
            throttle.answered(name)
            return True
        except WriteError as error:
            await self._failed(plan, error, fence)
            return False

    def _note_written(self, operation: Operation, revision: int | None, *, drift: bool) -> None:
        name = operation.name
        self._journal.wrote(
            Write(
                revision=self._logic.revision,
                name=name,
                operation=verb(operation),
                written=revision,
                drift=drift,
                uuid=operation.key.uuid,
                fields=() if isinstance(operation, Create | Delete) else fields(operation),
            )
        )
        if _LOG.isEnabledFor(logging.DEBUG):
            extra = {**self._log_fields.about(name), "written": revision}
            _LOG.debug("written: %s %s", verb(operation), name, extra=extra)
        self.written += 1

    async def _send(self, operation: Operation, fence: str | None) -> Written:
        write = self._write
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

    async def _failed(self, plan: Plan, error: WriteError, fence: str | None) -> None:
        """Handle a failed write, for the object and for the server."""
        name = plan.name
        match error:
            case Fenced():
                if not self._permission.fenced(error, fence):
                    self.fenced = error
                self._objects.plan((name,))
            case Conflict() | UnknownOutcome():
                if isinstance(error, Conflict):
                    self._throttle.heard()
                await self._read_back.after(plan)
                rounds = self._conflicts[name] = self._conflicts.get(name, 0) + 1
                if rounds < _ROUNDS:
                    self._objects.plan((name,))
                else:
                    self._delay(name, error)
            case Throttled(retry_after=seconds):
                self._throttle.throttled(error, name)
                self._delay(name, error, after=seconds)
            case Unreachable():
                self._throttle.away(error)
                self._objects.plan((name,))
            case Rejected():
                self._throttle.heard()
                self._refuse(name, error)
                self._objects.retry(name)
            case _:
                self._delay(name, error)

    def _delay(self, name: Name, error: Exception, *, after: float | None = None) -> None:
        """Retry with back-off, and report that."""
        message = f"its last write failed ({error}); it is tried again"
        self._states.refused.release(name)
        if self._states.delayed.hold(name, Problem(name.kind, ":".join(name.fq_name), "Delayed", message)):
            _LOG.info("%s: %s", name, message, extra=self._log_fields.about(name))
        self._objects.retry(name, after=after)

    def _refuse(self, name: Name, error: Rejected) -> None:
        problem = Problem(name.kind, ":".join(name.fq_name), "Refused", f"the API server rejects it: {error}")
        self._states.delayed.release(name)
        if self._states.refused.hold(name, problem):
            _LOG.warning("%s: %s", name, problem.message, extra=self._log_fields.about(name))


_ANSWERED: dict[type[Operation], str] = {
    Create: "create.answered",
    Update: "update.answered",
    Delete: "delete.answered",
    AddReference: "ref.answered",
    RemoveReference: "ref.answered",
}
