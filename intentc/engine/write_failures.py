"""Handles each outcome of a failed write: what it means for the object, and for the server (docs/engine.md §6.3).

The object is planned again, at once or after a back-off; nothing is repeated blindly. An internal error counts as such
an outcome, also while planning. ``writes`` sends, and its loop decides when the object is worked on.

``ReadBack`` reads objects from the API server where the cache may be wrong: after a write that failed or has no echo,
and when an audit finds a difference. The next plan then starts from what is there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from ..model import AddReference, Create, Key, Name, Operation, Problem, RemoveReference, Update
from ..planning import Plan, Planner
from ..reconcile.failures import Conflict, Failure, Rejected, Throttled, UnknownOutcome
from ..writing import ReadService
from .api_throttle import ApiThrottle
from .log_fields import LogFields
from .objects import Objects
from .state_tables import StateTables

_LOG = logging.getLogger(__name__)
INTERNAL_ERROR = "InternalError"
"""The reason of an object that is deferred because its plan or write raised an unexpected exception."""
_ROUNDS = 3
"""Conflicts in a row after which an object backs off."""


class ReadBack:
    """Reads one object after the other. A server that can't be asked is asked again on the next occasion."""

    def __init__(self, reader: ReadService, planner: Planner, objects: Objects, log_fields: LogFields) -> None:
        self._reader = reader
        self._assumed = planner.assumed
        self._book = planner.book
        self._objects = objects
        self._log_fields = log_fields

    async def after(self, plan: Plan) -> None:
        """Read the object, its name and its targets after a failed write, for the next plan."""
        wanted: dict[Key, Name] = {}
        for operation in plan.operations:
            wanted[operation.key] = operation.name
            wanted.update(_targets(operation))
        try:
            holder = await self._reader.identify(plan.name)
            if holder is not None:
                wanted[holder] = plan.name
            for key, name in wanted.items():
                is_there = await self._refresh(key)
                if not is_there and name != plan.name and name in self._book:
                    # Its presence was perhaps only assumed, and no event corrects that after a restore of the store.
                    self._objects.plan((name,))
        except Failure as error:
            self._log(plan.name, error)

    async def object(self, key: Key, name: Name) -> bool:
        """Read the object ``key`` of this name. False if that failed."""
        try:
            await self._refresh(key)
        except Failure as error:
            self._log(name, error)
            return False
        return True

    async def unseen(self) -> bool:
        """Read and plan the objects whose writes got no echo in time. True if there was any."""
        found: list[Name] = []
        for key, name in self._assumed.expired():
            if not await self.object(key, name):
                break
            found.append(name)
        self._objects.plan(found)
        return bool(found)

    async def _refresh(self, key: Key) -> bool:
        """Read one object. True if it is there. Raises ``Failure``."""
        seen_at = self._assumed.seen_at(key)
        stored = await self._reader.read(key)
        self._assumed.read_back(key, stored, seen_at)
        return stored is not None

    def _log(self, name: Name, error: Failure) -> None:
        _LOG.info("reading back %s: %s", name, error, extra=self._log_fields.about(name))


class WriteFailures:
    """Notes failures in the states of objects. State: the conflicts of each object so far."""

    def __init__(
        self,
        states: StateTables,
        throttle: ApiThrottle,
        objects: Objects,
        read_back: ReadBack,
        log_fields: LogFields,
    ) -> None:
        self._states = states
        self._throttle = throttle
        self._objects = objects
        self._read_back = read_back
        self._log_fields = log_fields
        self._conflicts: dict[Name, int] = {}

    def forget(self, name: Name) -> None:
        """The object is as it should be: its next conflict counts as the first."""
        self._conflicts.pop(name, None)

    async def read_again(self, plan: Plan, error: Failure) -> bool:
        """Read everything that a failed write may have found or left different from its plan. True if the object is
        planned again at once; otherwise the write has failed."""
        if not isinstance(error, Conflict | UnknownOutcome):
            return False
        if isinstance(error, Conflict):
            self._throttle.heard()
        await self._read_back.after(plan)
        rounds = self._conflicts[plan.name] = self._conflicts.get(plan.name, 0) + 1
        if rounds < _ROUNDS:
            self._objects.plan((plan.name,))
        return rounds < _ROUNDS

    def note(self, name: Name, error: Exception) -> None:
        """Report a failure; the object is queued again. Called from an ``except`` clause: the log shows where an
        exception was raised."""
        match error:
            case Rejected():
                self._throttle.heard()
                self._hold_rejected(name, error)
            case Failure(concerns_all=True) if not isinstance(error, Throttled):
                pass
            case Failure():
                problem = _problem(name, "Delayed", f"its last write failed: {error}")
                if self._hold_delayed(name, problem):
                    _LOG.info("%s: %s", name, problem.message, extra=self._log_fields.about(name))
            case _:
                message = (
                    f"a fault of intentc itself ended its plan or write ({type(error).__name__}). The log has the "
                    "stack: please report it"
                )
                _LOG.exception("%s: %s", name, message, extra=self._log_fields.about(name))
                self._hold_delayed(name, _problem(name, INTERNAL_ERROR, message))

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


def _targets(operation: Operation) -> Iterator[tuple[Key, Name]]:
    """The objects to which a write refers."""
    match operation:
        case Create() | Update():
            if isinstance(operation, Create) and operation.parent:
                yield operation.parent.key, Name(operation.parent.key.kind, operation.parent.fq_name)
            for entries in operation.references.values():
                for entry in entries:
                    yield entry.key, Name(entry.key.kind, entry.fq_name)
        case AddReference(target=target):
            yield target.key, Name(target.key.kind, target.fq_name)
        case RemoveReference(target=key):
            yield key, Name(key.kind, ())


def _problem(name: Name, reason: str, message: str) -> Problem:
    return Problem(name.kind, ":".join(name.fq_name), reason, message)
