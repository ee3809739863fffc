"""Requests allocations from the API server's allocator for intents, and frees them (docs/engine.md §8).

The owner of an allocation is ``installation/uuid of the intent/purpose``. Requests are made before objects are written.
An allocation is freed when its owner is absent or no longer requests it, and no stored object may show its value. The
latter holds once the deletion of everything made for the owner is acknowledged, and the write of each object on which
the owner changed its claims; ``marked_objects`` tracks that. The compilers decide what allocations are used for; the
API server decides who holds which.

It requests and frees only with permission; the read of all allocations (``load``) needs none.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from typing import NamedTuple

from .. import crashpoints
from ..evaluation import AllocationRequest, Outcome, Status
from ..logic import Service
from ..model import Problem
from ..model.reads import allocation_read
from ..reconcile import Loop, RequeueAfter
from ..reconcile.backoff import Backoff
from ..reconcile.failures import Failure, Fenced, Rejected, Unavailable
from ..writing import ReadService, WriteService
from .api_throttle import ApiThrottle
from .jobs import Jobs
from .marked_objects import MarkedObjects
from .permission import Permission
from .phases import Happened, Phases
from .state_tables import StateTables

_LOG = logging.getLogger(__name__)
_KEEPS_REQUESTS = frozenset({Status.FAILED, Status.HELD, Status.ON_HOLD})
"""The endings of a run after which the allocations that its intent needs are unknown."""
_LAPSE = 1.0
"""Seconds until an entry is tried again after permission was briefly uncertain."""


class Entry(NamedTuple):
    """One entry of the allocator, whether it holds a number or not."""

    pool: str
    owner: str

    @property
    def origin(self) -> str:
        """The uuid in ``installation/origin uuid/purpose``."""
        return self.owner.partition("/")[2].rpartition("/")[0]


_ALL = Entry("", "")
"""The key that is queued to read all allocations again."""


class Allocations:
    """Works on allocator entries, each on its own, so a rejected one delays no other.

    When an allocation is given or freed, the intents that read it are enqueued in ``jobs``."""

    def __init__(
        self,
        logic: Service,
        writer: WriteService,
        reader: ReadService,
        permission: Permission,
        throttle: ApiThrottle,
        phases: Phases,
        states: StateTables,
        jobs: Jobs,
        marked: MarkedObjects,
        *,
        on_end: Callable[[], None],
    ) -> None:
        self._logic = logic
        self._writer = writer
        self._reader = reader
        self._permission = permission
        self._throttle = throttle
        self._phases = phases
        self._states = states
        self._jobs = jobs
        self._marked = marked
        self.loop: Loop[Entry] = Loop(
            self._serve,
            name="allocate",
            gate=self._gate,
            backoff=Backoff(first=0.05, last=30.0),
            pause=throttle,
            order=self._order,
            on_failure=self._note_failure,
            on_end=on_end,
        )
        self._requested: dict[str, dict[Entry, AllocationRequest]] = {}
        self._held: dict[str, dict[Entry, int]] = {}
        self._leaving: set[str] = set()
        self._to_check: set[str] = set()
        """Those of ``_leaving`` that may or may not be held up by an object. The others are queued, or
        ``marked_objects`` reports when no object holds them up any more."""
        self._unsure: set[Entry] = set()
        """Entries whose last request failed after it was sent: the allocator may hold a number for them."""
        self._invalidations = 0
        self._found: set[str] = set()
        """Origins of allocations that a load found, and that no evaluation has read since: another process may have
        written them onto any object."""
        self.known = False
        """Whether all allocations were read since they were last declared invalid."""

    async def load(self) -> None:
        """Read all allocations: before the first evaluation, and after the store was restored to an older state."""
        invalidations = self._invalidations
        entries = await self._reader.all_allocations(f"{self._logic.installation}/")
        found = {Entry(pool, owner): value for pool, owner, value in entries}
        for entry in [entry for entries in self._held.values() for entry in entries]:
            if entry not in found:
                self._note(entry, None)
        for entry, value in found.items():
            if entry not in self._held.get(entry.origin, ()):
                self._found.add(entry.origin)
            self._note(entry, value)
        # What was read before an invalidation may be from the former store.
        self.known = invalidations == self._invalidations
        if self._logic.listed:
            # Each pass releases what nobody needs, but a load starts no pass: it releases that itself.
            self.release_unneeded()
        if not self._jobs.idle:
            # The intents that read them are evaluated before anything is planned.
            self._phases.happened(Happened.INPUTS)

    def release_unneeded(self) -> None:
        """Free allocations whose owners don't exist, or were evaluated before a load found the allocation. Called once
        the world is listed: objects may have changed without an event, so all pending releases are checked again."""
        for origin in tuple(self._held):
            if not self._logic.has_intent(origin) or (origin in self._found and self._is_evaluated(origin)):
                self.release(origin)
        self._to_check |= self._leaving

    def _is_evaluated(self, origin: str) -> bool:
        """Whether the last evaluation of each intent with this uuid was complete."""
        return all(key in self._states.evaluated for key in self._logic.intents_of(origin))

    def invalidate(self) -> None:
        """Queue a read of all allocations, since the known ones may be wrong."""
        self._invalidations += 1
        self.known = False
        self.loop.add(_ALL)

    def outcome(self, outcome: Outcome) -> None:
        """Replace the requests of an intent by those of this evaluation; release what it no longer reads."""
        origin = outcome.key.uuid
        if (outcome.requests or origin in self._requested) and outcome.status not in _KEEPS_REQUESTS:
            # A fact may be named by the uuid of a resource, and has an intent of its own then.
            others = self._requested.get(origin, {}).items()
            self._requested[origin] = {entry: request for entry, request in others if request.origin != outcome.key} | {
                Entry(request.pool, request.owner): request for request in outcome.requests
            }
            if not self._requested[origin]:
                del self._requested[origin]
            elif not self._permission.withheld_for:
                for entry in self._requested[origin]:
                    self.loop.add(entry)
        if origin in self._held and outcome.status in {Status.DONE, Status.DELETED}:
            for entry in self._held[origin]:
                if allocation_read(*entry) not in outcome.reads:
                    self.release(origin)
            if origin not in self._leaving:
                self._found.discard(origin)

    def resume(self) -> None:
        """Queue all requests that waited for permission, now that writes are permitted."""
        for entries in self._requested.values():
            for entry in entries:
                self.loop.add(entry)
        self._to_check |= self._leaving
        self.queue_releases()

    @property
    def requested(self) -> int:
        """The number of open requests."""
        return sum(map(len, self._requested.values()))

    @property
    def leaving(self) -> Collection[str]:
        """The origins that have allocations to be freed."""
        return self._leaving

    def holds(self, origin: str) -> bool:
        """Whether an allocation of this origin exists."""
        return origin in self._held

    @property
    def outstanding(self) -> bool:
        """Whether a request is open, or an allocation is to be freed."""
        leaving = (entry for origin in self._leaving for entry in self._held.get(origin, ()))
        return bool(self._requested) or any(not self._is_read(entry) for entry in leaving)

    def release(self, origin: str) -> None:
        """Free the unread allocations of an owner that is deleted or requests less, once no object carries them."""
        if not any(self._is_read(entry) for entry in self._requested.get(origin, ())):
            self._requested.pop(origin, None)
        if origin in self._held:
            self._leaving.add(origin)
            self._to_check.add(origin)
            if origin in self._found:
                self._found.discard(origin)
                self._marked.await_pass(origin)

    def queue_releases(self) -> None:
        """Queue the releases that nothing blocks any more; called after an acknowledged write or an applied batch."""
        self._to_check |= self._marked.take_freed()
        if not self._to_check or self._permission.withheld_for:
            return
        to_check, self._to_check = self._to_check, set()
        for origin in to_check:
            unread = [entry for entry in self._held.get(origin, ()) if not self._is_read(entry)]
            if not unread:
                self._leaving.discard(origin)
            elif not self._marked.hold_up(origin):
                for entry in unread:
                    self.loop.add(entry, resync=True)

    def _gate(self) -> float:
        """Requests are gathered until plans may begin, so that values follow the order of the intents' names."""
        return max(self._phases.gate(), self._throttle.gate())

    def _order(self, entry: Entry) -> tuple[str, Entry]:
        request = self._requested.get(entry.origin, {}).get(entry) if entry.owner else None
        return (request.name if request else "", entry)

    async def _serve(self, entry: Entry) -> RequeueAfter | None:
        warrant = self._permission.warrant()
        self._throttle.spend(1)
        try:
            if entry is _ALL:
                await self.load()
            elif warrant is None:
                # Permission was withdrawn meanwhile; ``resume`` queues the request again. If only the lease or the
                # watch is uncertain right now, nothing resumes it, so retry.
                return None if self._permission.withheld_for else RequeueAfter(_LAPSE, keeps_failures=True)
            elif entry in self._requested.get(entry.origin, ()):
                await self._grant(entry, warrant.fence)
            elif (
                entry in self._held.get(entry.origin, ())
                and not self._is_read(entry)
                and not self._marked.hold_up(entry.origin)
            ):
                await self._free(entry, warrant.fence)
            elif entry in self._unsure:
                await self._settle_unknown(entry)
            else:
                return None
        except Fenced as error:
            if not self._permission.fenced(error, warrant.fence if warrant is not None else None):
                raise
            return None
        self._throttle.accepted(entry)
        self._unsure.discard(entry)
        return None

    def _note_failure(self, entry: Entry, error: Exception) -> None:
        """Report a failed request, which is tried again. Raises ``Fenced``, and what is not a ``Failure``."""
        if isinstance(error, Fenced) or not isinstance(error, Failure):
            raise error
        if not isinstance(error, Unavailable):
            self._unsure.add(entry)
        if self.loop.queue.failures(entry) == 0:
            level = logging.DEBUG if error.concerns_all and not error.seconds else logging.WARNING
            if entry == _ALL:
                _LOG.log(level, "the allocations can't be read: %s", error)
            else:
                _LOG.log(level, "a request to the allocator failed, pool %s, owner %s: %s", *entry, error)
        if isinstance(error, Rejected):
            self._reject(entry, error)

    def _reject(self, entry: Entry, error: Rejected) -> None:
        """Report the rejection, with the server's message, as a problem of the intent."""
        request = self._requested.get(entry.origin, {}).get(entry)
        if request is not None:
            message = f"the allocator rejects a request for {entry.pool}: {error}"
            problem = Problem(request.origin.kind, request.name, "AllocationRejected", message)
            self._states.rejected_requests.hold(request.origin, problem)

    async def _grant(self, entry: Entry, fence: str | None) -> None:
        value = await self._writer.allocate(*entry, fence)
        crashpoints.reach("allocate.answered")
        self._note(entry, value)
        if not self._is_read(entry):
            # The owner was deleted, or no longer requests it, since the request was sent.
            self.release(entry.origin)

    async def _settle_unknown(self, entry: Entry) -> None:
        """Load all allocations to learn whether an unneeded request with unknown outcome was granted."""
        await self.load()
        if not self._is_read(entry):
            self.release(entry.origin)
            self.queue_releases()

    async def _free(self, entry: Entry, fence: str | None) -> None:
        # The allocation is hidden first: an evaluation that runs meanwhile must request anew, not get what is about to
        # be freed. It stays in ``_held`` until the answer, so that a failed release is tried again.
        self._jobs.schedule(self._logic.allocated(*entry, None).jobs)
        await self._writer.free(*entry, self._held[entry.origin][entry], fence)
        crashpoints.reach("free.answered")
        self._note(entry, None)

    def _note(self, entry: Entry, value: int | None) -> None:
        if value is not None:
            self._held.setdefault(entry.origin, {})[entry] = value
            self._fulfilled(entry)
        elif entry.origin in self._held:
            self._held[entry.origin].pop(entry, None)
            if not self._held[entry.origin]:
                del self._held[entry.origin]
                self._leaving.discard(entry.origin)
                self._found.discard(entry.origin)
        jobs = self._logic.allocated(*entry, value).jobs
        if value is not None:
            # An intent that requested several together can't continue before it has all of them.
            waiting = {request.origin for request in self._requested.get(entry.origin, {}).values()}
            jobs = {key: job for key, job in jobs.items() if key not in waiting}
        self._jobs.schedule(jobs)

    def _fulfilled(self, entry: Entry) -> None:
        """Drop the request for an allocation that exists, whoever requested it.

        A new leader finds allocations that the former leader requested, and must not request them again."""
        requests = self._requested.get(entry.origin, {})
        request = requests.pop(entry, None)
        if request is not None:
            self._states.rejected_requests.release(request.origin)
        if not requests:
            self._requested.pop(entry.origin, None)

    def _is_read(self, entry: Entry) -> bool:
        return bool(self._logic.reads.readers(allocation_read(*entry)))
