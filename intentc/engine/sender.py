"""Sends the writes of a plan to the API server in order, and handles each outcome.

What a failed write means is docs/engine.md §6.3, here as one ``match``. ``reconciler`` decides whether and when an
object is planned; ``writing`` makes the requests.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from .. import crashpoints
from ..journal import Write
from ..model import AddReference, Create, Delete, Key, Name, Operation, Problem, RemoveReference, Update, verb
from ..planning import Plan
from ..writing import Conflict, Fenced, Rejected, Throttled, UnknownOutcome, Unreachable, WriteError, Written
from .drift import fields
from .log_fields import about
from .parts import Parts

_LOG = logging.getLogger(__name__)
_ROUNDS = 3
"""Conflicts in a row after which an object backs off."""


class Sender:
    """Carries plans out. ``on_create`` is called with each object and the origin in its mark before it is created,
    ``on_success`` with each plan that was carried out completely."""

    def __init__(
        self, parts: Parts, *, on_create: Callable[[Name, str], None], on_success: Callable[[Plan], None]
    ) -> None:
        self._parts = parts
        self._on_create = on_create
        self._on_success = on_success
        self._conflicts: dict[Name, int] = {}
        self.fenced: Fenced | None = None
        """Set if the server rejected us in favour of another compiler though we never claimed to lead."""
        self.drifted: set[Name] = set()
        """Objects whose next write repairs another writer's change."""
        self._restorations = 0
        self.written = 0
        self.last_revision = 0
        """The highest revision that an acknowledged write reported; the engine is quiet once the watch has passed it.
        """

    def restored(self, revision: int) -> None:
        """The store was restored to ``revision``: later revisions, and those in answers under way, are void."""
        self.last_revision = min(self.last_revision, revision)
        self._restorations += 1

    def forget(self, name: Name) -> None:
        """The object is as it should be: its next conflict counts as the first."""
        self._conflicts.pop(name, None)

    async def carry_out(self, plan: Plan) -> None:
        """Send the writes of a plan. Never raises: a failed write is retried, or held and reported."""
        try:
            await self._send_all(plan)
        except Exception as error:
            _LOG.exception(
                "writing %s failed unexpectedly; it is tried again",
                plan.name,
                extra=about(self._parts, plan.name),
            )
            self._delay(plan.name, error)

    async def _send_all(self, plan: Plan) -> None:
        parts, name = self._parts, plan.name
        drift = name in self.drifted
        self.drifted.discard(name)
        fence: str | None = None
        try:
            for number, operation in enumerate(plan.operations):
                if number and not parts.throttle.open:
                    parts.objects.retry(name, after=parts.throttle.closed_for)
                    return
                warrant = parts.permission.warrant()
                if warrant is None:
                    # Permission was withdrawn since: the object is planned again, to report what it would need.
                    parts.objects.add(name)
                    return
                fence, restorations = warrant.fence, self._restorations
                if isinstance(operation, Create):
                    self._on_create(name, operation.mark.origin)
                written = await self._send(operation, fence)
                crashpoints.reach(_ANSWERED[type(operation)])
                revision = written.revision if isinstance(written, Written) else None
                if parts.assumed.wrote(operation, revision):
                    crashpoints.reach("echo.seen")
                parts.journal.wrote(
                    Write(
                        revision=parts.logic.revision,
                        name=name,
                        operation=verb(operation),
                        written=revision,
                        drift=drift,
                        uuid=operation.key.uuid,
                        fields=() if isinstance(operation, Create | Delete) else fields(operation),
                    )
                )
                if _LOG.isEnabledFor(logging.DEBUG):
                    extra = {**about(parts, name), "written": revision}
                    _LOG.debug("written: %s %s", verb(operation), name, extra=extra)
                self.written += 1
                if restorations == self._restorations:
                    self.last_revision = max(self.last_revision, revision or 0)
            parts.throttle.answered(name)
            self._on_success(plan)
        except WriteError as error:
            await self._failed(plan, error, fence)

    async def _send(self, operation: Operation, fence: str | None) -> Written:
        write = self._parts.write
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
        parts, name = self._parts, plan.name
        match error:
            case Fenced():
                if not parts.permission.fenced(error, fence):
                    self.fenced = error
                parts.objects.add(name)
            case Conflict() | UnknownOutcome():
                if isinstance(error, Conflict):
                    parts.throttle.heard()
                await self._read_back(plan)
                rounds = self._conflicts[name] = self._conflicts.get(name, 0) + 1
                if rounds < _ROUNDS:
                    parts.objects.add(name)
                else:
                    self._delay(name, error)
            case Throttled(retry_after=seconds):
                parts.throttle.throttled(error, name)
                self._delay(name, error, after=seconds)
            case Unreachable():
                parts.throttle.away(error)
                parts.objects.add(name)
            case Rejected():
                parts.throttle.heard()
                self._refuse(name, error)
                parts.objects.retry(name)
            case _:
                self._delay(name, error)

    def _delay(self, name: Name, error: Exception, *, after: float | None = None) -> None:
        """Retry with back-off, and report that."""
        message = f"its last write failed ({error}); it is tried again"
        self._parts.states.refused.release(name)
        if self._parts.states.delayed.hold(name, Problem(name.kind, ":".join(name.fq_name), "Delayed", message)):
            _LOG.info("%s: %s", name, message, extra=about(self._parts, name))
        self._parts.objects.retry(name, after=after)

    def _refuse(self, name: Name, error: Rejected) -> None:
        problem = Problem(name.kind, ":".join(name.fq_name), "Refused", f"the API server rejects it: {error}")
        self._parts.states.delayed.release(name)
        if self._parts.states.refused.hold(name, problem):
            _LOG.warning("%s: %s", name, problem.message, extra=about(self._parts, name))

    async def _read_back(self, plan: Plan) -> None:
        """Read the object, its name and its targets from the server for the next plan."""
        parts = self._parts
        wanted: dict[Key, Name] = {}
        for operation in plan.operations:
            wanted[operation.key] = operation.name
            wanted.update(_targets(operation))
        try:
            holder = await parts.read.identify(plan.name)
            if holder is not None:
                wanted[holder] = plan.name
            for key, name in wanted.items():
                seen_at = parts.assumed.seen_at(key)
                stored = await parts.read.read(key)
                parts.assumed.read_back(key, stored, seen_at)
                if stored is None and name != plan.name and name in parts.book:
                    # Its presence was perhaps only assumed, and no event corrects that after a restore of the store.
                    parts.objects.add(name)
        except WriteError as error:
            _LOG.info("reading back %s: %s", plan.name, error, extra=about(parts, plan.name))

    async def expired(self) -> list[Name]:
        """Read back what was written and not seen again in time; return the objects to plan again."""
        parts = self._parts
        found = []
        for key, name in parts.assumed.expired():
            seen_at = parts.assumed.seen_at(key)
            try:
                parts.assumed.read_back(key, await parts.read.read(key), seen_at)
            except WriteError as error:
                _LOG.info("reading back %s: %s", name, error, extra=about(parts, name))
                break
            found.append(name)
            # The object was read, so the echo isn't needed: a restored store may never reach the reported revision.
            self.last_revision = min(self.last_revision, parts.logic.revision)
        return found


_ANSWERED: dict[type[Operation], str] = {
    Create: "create.answered",
    Update: "update.answered",
    Delete: "delete.answered",
    AddReference: "ref.answered",
    RemoveReference: "ref.answered",
}


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
