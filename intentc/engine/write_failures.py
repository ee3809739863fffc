"""Handles each outcome of a failed write: what it means for the object, and for the server (docs/engine.md §6.3).

The object is planned again, at once or after a back-off; nothing is repeated blindly. A fault of our own is such an
outcome, too, also while planning. ``sender`` sends the writes, ``read_back`` reads what became of them.

State: the conflicts of each object so far, and that another process leads. It changes the states of objects, their
queue, the permission, the throttle and, through ``read_back``, the assumptions.
"""

from __future__ import annotations

import logging

from ..model import Name, Problem
from ..planning import Plan
from ..reconcile.failures import Conflict, Failure, Fenced, Rejected, Throttled, Unavailable, UnknownOutcome
from .api_throttle import ApiThrottle
from .log_fields import LogFields
from .object_queue import ObjectQueue
from .permission import Permission
from .read_back import ReadBack
from .state_tables import StateTables

_LOG = logging.getLogger(__name__)
INTERNAL_ERROR = "InternalError"
"""The reason for which an object is deferred whose plan or write ended with an exception that nothing foresees."""
_ROUNDS = 3
"""Conflicts in a row after which an object backs off."""


class WriteFailures:
    """``fenced``: set if the server rejected us in favour of another process though we never claimed to lead."""

    def __init__(
        self,
        *,
        states: StateTables,
        permission: Permission,
        throttle: ApiThrottle[Name],
        objects: ObjectQueue,
        read_back: ReadBack,
        log_fields: LogFields,
    ) -> None:
        self._states = states
        self._permission = permission
        self._throttle = throttle
        self._objects = objects
        self._read_back = read_back
        self._log_fields = log_fields
        self._conflicts: dict[Name, int] = {}
        self.fenced: Fenced | None = None

    def forget(self, name: Name) -> None:
        """The object is as it should be: its next conflict counts as the first."""
        self._conflicts.pop(name, None)

    @property
    def is_paused(self) -> bool:
        """Whether the server asks for a pause, so that the rest of a plan has to be made after it."""
        return not self._throttle.open

    def pause(self, name: Name) -> None:
        """Plan the object again after the pause that the server asks for."""
        self._objects.retry(name, after=self._throttle.closed_for)

    async def handle(self, plan: Plan, error: Failure, fence: str | None) -> None:
        """Queue or hold the object of a failed write, and note what it says of the server. ``fence``: the one that it
        carried."""
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
                    self.delay(name, error)
            case Throttled(seconds=seconds):
                self._throttle.throttled(error, name)
                self.delay(name, error, after=seconds)
            case Unavailable():
                self._throttle.away(error)
                self._objects.plan((name,))
            case Rejected():
                self._throttle.heard()
                self._hold_rejected(name, error)
                self._objects.retry(name)
            case _:
                self.delay(name, error)

    def delay(self, name: Name, error: Exception, *, after: float | None = None) -> None:
        """Retry with back-off, and report that."""
        problem = _problem(name, "Delayed", f"its last write failed: {error}")
        if self._hold_delayed(name, problem):
            _LOG.info("%s: %s", name, problem.message, extra=self._log_fields.about(name))
        self._objects.retry(name, after=after)

    def unexpected(self, name: Name, error: Exception) -> None:
        """Retry with back-off an object whose plan or write ended with an exception that nothing foresees, and report
        that. Called from an ``except`` clause: the log shows where it was raised."""
        message = (
            f"a fault of intentc itself ended its plan or write ({type(error).__name__}). The log has the stack: "
            "please report it"
        )
        _LOG.exception("%s: %s", name, message, extra=self._log_fields.about(name))
        self._hold_delayed(name, _problem(name, INTERNAL_ERROR, message))
        self._objects.retry(name)

    def planned(self, name: Name) -> None:
        """The object could be planned, and nothing may be written now: a former fault has ended."""
        held = self._states.delayed.get(name)
        if held is not None and held.problem.reason == INTERNAL_ERROR:
            self._states.delayed.release(name)

    def _hold_delayed(self, name: Name, problem: Problem) -> bool:
        self._states.rejected.release(name)
        return self._states.delayed.hold(name, problem)

    def _hold_rejected(self, name: Name, error: Rejected) -> None:
        problem = _problem(name, "Rejected", f"the API server rejects it: {error}")
        self._states.delayed.release(name)
        if self._states.rejected.hold(name, problem):
            _LOG.warning("%s: %s", name, problem.message, extra=self._log_fields.about(name))


def _problem(name: Name, reason: str, message: str) -> Problem:
    return Problem(name.kind, ":".join(name.fq_name), reason, message)
