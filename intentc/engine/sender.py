"""Sends the writes of a plan to the API server in order, and keeps what was written (step 8).

``write_failures`` handles each failure. ``reconciler`` decides when an object is planned, ``object_planner`` what may
be written; ``writing`` makes the requests. All writes of objects pass here; ``allocations`` sends its own.

State: how many writes were acknowledged, the highest revision that an answer had, and the number of restores. It
changes the assumptions, the journal, the queue of objects and ``write_failures`` by their methods.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable

from .. import crashpoints
from ..journal import Journal, Write
from ..logic import Service
from ..model import (
    AddReference,
    Create,
    Delete,
    Operation,
    RemoveReference,
    Update,
    UpdateStatus,
    verb,
    written_fields,
)
from ..planning import Assumed, Plan
from ..reconcile.failures import Failure
from ..writing import WriteService, Written
from .log_fields import LogFields
from .object_queue import ObjectQueue
from .permission import Permission
from .write_failures import WriteFailures

_LOG = logging.getLogger(__name__)


class Sender:
    """Carries plans out, and queues the objects whose plans failed."""

    def __init__(
        self,
        *,
        logic: Service,
        assumed: Assumed,
        writer: WriteService,
        journal: Journal,
        permission: Permission,
        objects: ObjectQueue,
        failures: WriteFailures,
        log_fields: LogFields,
    ) -> None:
        self._logic = logic
        self._assumed = assumed
        self._writer = writer
        self._journal = journal
        self._permission = permission
        self._objects = objects
        self._failures = failures
        self._log_fields = log_fields
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

    async def carry_out(self, plan: Plan, *, drift: bool) -> bool:
        """Send the writes of a plan. True if all of them are carried out; else the object is queued again, or held and
        reported. ``drift``: whether they repair another writer's change."""
        name = plan.name
        fence: str | None = None
        try:
            for number, operation in enumerate(plan.operations):
                if number and self._failures.is_paused:
                    self._failures.pause(name)
                    return False
                warrant = self._permission.warrant()
                if warrant is None:
                    # Permission was withdrawn since: the object is planned again, to report what it would need.
                    self._objects.plan((name,))
                    return False
                fence, restorations = warrant.fence, self._restorations
                written = await self._send(operation, fence)
                crashpoints.reach(_ANSWERED[type(operation)])
                revision = written.revision if isinstance(written, Written) else None
                if self._assumed.wrote(operation, revision):
                    crashpoints.reach("echo.seen")
                self._note_written(operation, revision, drift=drift)
                if restorations == self._restorations:
                    self.last_revision = max(self.last_revision, revision or 0)
            return True
        except Failure as error:
            await self._failures.handle(plan, error, fence)
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


_ANSWERED: dict[type[Operation], str] = {
    Create: "create.answered",
    Update: "update.answered",
    Delete: "delete.answered",
    AddReference: "ref.answered",
    RemoveReference: "ref.answered",
    UpdateStatus: "update.answered",
}
