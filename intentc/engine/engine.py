"""The engine: the nine steps of an event's path (docs/architecture.md), wired on one page.

Read it from top to bottom. The **watch** delivers a batch (1), **logic** applies it and finds the affected intents (2),
the **scheduler** keeps one job per intent (3), **workers** take jobs (4) and **evaluate** them (5). The output of an
evaluation becomes **claims** on objects (6), each object is **planned** from all claims on it (7) and **written** (8),
and every step adds a line to the **journal** (9). Each step is a class in ``intentc/engine/``. It is given the stages
that it uses, the two queues, and steps that come after it, and calls no step before it: the engine's loops hand on what
it returns. ``assembly.py`` decides which stages are used: a real etcd and HTTP, or memory.

An engine is in several of these states at once:

===========  ==============================  =================================  =======================================
state        entered when                    left when                          what may happen in it
===========  ==============================  =================================  =======================================
listing      the process starts              the first listing is applied       nothing is evaluated, planned or
                                                                                allocated
pass due     a listing is applied, the       no job is left, and none cools     evaluations; no plan; writes under way
             first one too                   down: orphans are queued           go on
evaluating   something was applied while     no job is left, or after 1,000     evaluations; no plan; writes under way
             *idle* (a batch, a correction,  evaluations                        go on
             all allocations, a reload),
             and left jobs
idle         *pass due* or *evaluating*      *evaluating* begins, or *pass      plans and their writes; allocations are
             ends                            due* with jobs                     requested and freed; evaluations of
                                                                                what facts and directives queue
withheld     a reason is given: observing,   ``allow`` removes the last reason  evaluations; plans, which are kept; no
             standing by, restored,                                             write, no allocation
             upgrade, ending
uncertain    the watch is not ready, or the  both are                           as *withheld*; what was to be written
             lease not certain                                                  or allocated is tried again after a
                                                                                second at most
restored     a later listing is older than   *idle*, no pass is due, and the    as *withheld*, for this reason; former
             what was applied                allocations are read; with         echoes and journal lines are void
                                             ``confirm_restores``, the caller
                                             decides
quiet        the first pass is made, and     something is                       back-offs go on
             nothing is queued, under way,
             or written and not seen
converged    *quiet*, only rejected and      one of these ends                  ``settled`` returns
             contended objects back off,
             and no plan waits for
             permission (unless it
             observes)
ending       ``run`` is cancelled            no write is under way, or after 8  as *withheld*; writes under way may end
                                             seconds
===========  ==============================  =================================  =======================================
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

import anyio

from ..evaluation import Naming, Runner
from ..journal import Journal
from ..logic import Service
from ..logic.dependencies import ReactionMap
from ..model import Batch, Correction, HeldFacts, Key, Name, Resource, Snapshot
from ..planning import Assumed, ClaimBook, Planner
from ..writing import ReadService, WriteService
from .allocations import Allocations
from .api_throttle import ApiThrottle
from .applier import Applier, LastGoodValues
from .carriers import Carriers
from .claims import Claims
from .drift import Drift
from .edges import edges_of
from .evaluator import Evaluator
from .intent_states import IntentStates
from .log_fields import LogFields
from .object_changes import ObjectChanges
from .object_planner import ObjectPlanner
from .object_queue import ObjectQueue
from .operator_actions import OperatorActions
from .orphan_collector import OrphanCollector
from .pauses import Pauses
from .permission import ENDING, OBSERVING, RESTORED, Fence, Permission, Watch
from .read_back import ReadBack
from .reconciler import Reconciler
from .reload_record import ReloadRecord
from .repairs import Repairs
from .restore_guard import RestoreGuard
from .scheduler import Scheduler
from .sender import Sender
from .view import Outputs, Progress, States, View, World
from .write_failures import WriteFailures

_LOG = logging.getLogger(__name__)
_BURST = 1000
"""Evaluations in a row after which writes get a turn although more jobs wait."""
_READ_BACK_PERIOD = 1.0
"""Seconds between checks for assumed writes whose echo is missing."""
_LEDGER_LOOK = 5
"""Every how many of these checks the allocations are read again, if requests are open that may not be sent."""
_IN_FLIGHT = 400
"""Objects whose writes may be under way at once: enough to fill the permitted requests (``writing/endpoint.py``)."""
_DRAIN = 8.0
"""Seconds that writes under way get to end. The lease is given back after that, and shutdown takes ten at most."""


class Engine:
    """One compiler at work. ``run`` serves until it is cancelled; ``step`` makes one pass in the caller's own task.

    ``names``: other names that people use for compiled objects."""

    def __init__(
        self,
        *,
        installation: str,
        logic: Service,
        runner: Runner,
        book: ClaimBook,
        assumed: Assumed,
        planner: Planner,
        write: WriteService,
        read: ReadService,
        journal: Journal,
        states: IntentStates,
        permission: Permission,
        throttle: ApiThrottle[Name],
        drift: Drift,
        names: Mapping[str, Naming],
        workers: int = 4,
        in_flight: int = _IN_FLIGHT,
        last_good: LastGoodValues | None = None,
    ) -> None:
        self._logic, self._planner, self._states = logic, planner, states
        self._drift, self._permission = drift, permission
        self._workers, self._burst, self._confirms_restores = workers, 0, False
        self._idle, self._moved = asyncio.Event(), asyncio.Event()
        # From the last step to the first: each is given those after it.
        self._log_fields = log = LogFields(logic=logic, journal=journal)
        self._objects = objects = ObjectQueue()
        self._scheduler = scheduler = Scheduler(logic=logic)
        self._carriers = carriers = Carriers(assumed=assumed, book=book, objects=objects)
        self._read_back = ReadBack(read=read, assumed=assumed, book=book, objects=objects, log_fields=log)
        failures = WriteFailures(
            states=states, permission=permission, throttle=throttle, objects=objects,
            read_back=self._read_back, log_fields=log,
        )  # fmt: skip
        self._sender = sender = Sender(  # 8
            logic=logic, assumed=assumed, write=write, journal=journal, permission=permission, objects=objects,
            carriers=carriers, failures=failures, log_fields=log,
        )  # fmt: skip
        pauses = Pauses(logic=logic, book=book, assumed=assumed, states=states)
        repairs = Repairs(book=book, assumed=assumed, states=states, drift=drift, objects=objects, log_fields=log)
        object_planner = ObjectPlanner(  # 7
            planner=planner, states=states, permission=permission, objects=objects, pauses=pauses, repairs=repairs
        )
        self._reconciler = Reconciler(
            throttle=throttle, states=states, objects=objects, object_planner=object_planner, repairs=repairs,
            sender=sender, failures=failures, carriers=carriers, idle=self._idle, in_flight=in_flight,
        )  # fmt: skip
        self._orphan_collector = OrphanCollector(logic=logic, book=book, planner=planner, drift=drift, objects=objects)
        self._allocations = allocations = Allocations(
            installation=installation, logic=logic, write=write, read=read, permission=permission, throttle=throttle,
            states=states, scheduler=scheduler, carriers=carriers,
        )  # fmt: skip
        self._evaluator = Evaluator(  # 4, 5
            logic=logic, runner=runner, states=states, journal=journal, scheduler=scheduler, allocations=allocations,
            claims=Claims(book=book, guard=planner.guard, drift=drift, objects=objects), log_fields=log,
        )  # fmt: skip
        self._restore_guard = RestoreGuard(
            logic=logic, assumed=assumed, journal=journal, permission=permission, objects=objects,
            allocations=allocations, sender=sender,
        )  # fmt: skip
        object_changes = ObjectChanges(
            logic=logic, book=book, assumed=assumed, planner=planner, states=states, objects=objects, carriers=carriers
        )
        self._applier = Applier(  # 1, 2
            logic=logic, journal=journal, scheduler=scheduler, evaluator=self._evaluator,
            object_changes=object_changes, orphan_collector=self._orphan_collector,
            restore_guard=self._restore_guard, log_fields=log, last_good=last_good,
        )  # fmt: skip
        self.operator_actions = OperatorActions(
            logic=logic, book=book, planner=planner, states=states, drift=drift, scheduler=scheduler, objects=objects
        )
        self.throttle = throttle
        self.reloads = ReloadRecord(self._evaluator.edges.since)
        self.world = World(installation=installation, logic=logic, applier=self._applier, names=names)
        self.outputs = Outputs(logic=logic, book=book, assumed=assumed, planner=planner, runner=runner)
        self.states = States(states=states, scheduler=scheduler, objects=objects)
        self.progress = Progress(
            scheduler=scheduler, evaluator=self._evaluator, objects=objects, reconciler=self._reconciler,
            sender=sender, allocations=allocations, orphan_collector=self._orphan_collector, permission=permission,
            throttle=throttle, drift=drift, reloads=self.reloads,
        )  # fmt: skip
        self.journal = journal
        self.view = View(self.world, self.outputs, self.states, self.progress, journal)

    async def run(self, events: AsyncIterator[Snapshot | Batch]) -> None:
        """Serve until cancelled. Then no write begins any more, and those under way may end. The allocations must have
        been loaded. Raises ``Fenced`` if the server rejects our writes in favour of another compiler though we never
        claimed to lead."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._apply, events)  # 1, 2 → 3
                for _ in range(self._workers):
                    group.start_soon(self._evaluate)  # 3, 4, 5 → 6
                    group.start_soon(self._reconcile)  # 6, 7, 8
                group.start_soon(self._allocate)
                group.start_soon(self._settle_assumed)
        finally:
            self._permission.withhold(ENDING, "no write is begun any more")
            with anyio.move_on_after(_DRAIN, shield=True):
                await self._reconciler.drain()

    async def _apply(self, events: AsyncIterator[Snapshot | Batch]) -> None:
        async for item in events:
            await self.take(item)

    async def _evaluate(self) -> None:
        while True:
            slow = await self._evaluator.serve_next()
            self.advance()
            await self._evaluator.rest(give_way=slow)

    async def _reconcile(self) -> None:
        while True:
            writing = await self._reconciler.serve_next()
            if writing is None:
                self.advance()
            else:
                writing.add_done_callback(lambda _: self.advance())
            await self._reconciler.rest()

    async def _allocate(self) -> None:
        while True:
            for place in await self._allocations.next(self._idle):
                self._allocated(await self._allocations.serve_in_turn(place))

    async def _settle_assumed(self) -> None:
        """Read back assumed writes without an echo, and forget what is no longer needed."""
        looks = 0
        while True:
            await asyncio.sleep(_READ_BACK_PERIOD)
            if await self._read_back.unseen():
                self._sender.expect_no_echo()
            self._drift.tidy()
            looks += 1
            if looks % _LEDGER_LOOK == 0 and self._permission.reasons and self._allocations.outstanding:
                # The leader may have been granted them meanwhile, and no event reports allocations.
                self._allocations.invalidate()
            self._planner.guard.settle(self._leaves_something)

    def _leaves_something(self, origin: str) -> bool:
        """Whether objects of a deleted intent are still in the store: their deletion may be deferred for long."""
        return bool(self._carriers.of(origin)) and not self._logic.has_intent(origin)

    async def step(self, items: list[Snapshot | Batch]) -> bool:
        """Apply ``items`` and do all work that follows, in this task, in a fixed order. True if anything was done:
        then the store may hold new changes."""
        for item in items:
            await self.take(item)
        worked = bool(items)
        while (key := self._scheduler.take()) is not None:
            self._evaluator.serve(key)
            self.advance()
            worked = True
        self.advance()
        if not self._allocations.idle:
            for place in self._allocations.take_all():
                self._allocated(await self._allocations.serve(place))
            worked = True
            if not (self._scheduler.idle and self._allocations.idle):
                return True
        for name in self._objects.take_all():
            await self._reconciler.serve(name)
            worked = True
        return worked

    async def take(self, item: Snapshot | Batch) -> None:
        """Apply one item of the watch."""
        await self._applier.take(item)
        self._applied()

    def correct(self, missed: Correction) -> None:
        """Apply what the background relist found."""
        self._applier.apply(missed)
        self._applied()

    async def load_allocations(self) -> None:
        """Read all allocations: before the first evaluation, and when other processes may have been granted some."""
        await self._allocations.load()
        self._allocated(True)

    def _allocated(self, loaded: bool) -> None:
        """An allocator entry was served. ``loaded``: all allocations were read, so that intents may be affected."""
        if not loaded:
            self.advance()
            return
        if self.listed:
            # The first pass releases what has no owner. Later loads must do so themselves: nothing else would.
            self._allocations.release_ownerless()
        self._applied()

    def _applied(self) -> None:
        """Inputs were applied: evaluate the affected intents before anything is planned."""
        if self._idle.is_set() and not self._scheduler.idle:
            self._idle.clear()
            self._burst = self._evaluator.runs + _BURST
        self.advance()

    def advance(self) -> None:
        """Work ended, or was asked for: check whether planning may go on, and wake the waiters for quiet."""
        due = self._orphan_collector.due
        # A pass needs expensive intents as well: a deferred intent's last output may be stale.
        cooling_down = due and self._evaluator.cooling_down
        if self.listed and self._scheduler.idle and not cooling_down:
            if due:
                self._allocations.release_ownerless()
                self._orphan_collector.make_pass()
            self._idle.set()
        elif not due and self._evaluator.runs >= self._burst:
            self._idle.set()
        if self._idle.is_set():
            self._allocations.queue_releases()
            if self._is_compared and not self._confirms_restores:
                self.allow(RESTORED)
        self._moved.set()

    @property
    def _is_compared(self) -> bool:
        """Whether a restored store is evaluated completely, and only the permission to write lacks."""
        return self._idle.is_set() and not self._orphan_collector.due and self._restore_guard.withholds

    async def compared(self) -> None:
        """Return once the store was restored, and everything in it is evaluated; writes are still withheld."""
        while not self._is_compared:
            await self._move()

    async def settled(self, revision: int = 0) -> None:
        """Return once everything up to ``revision`` is applied and the engine has converged."""
        while not (self.converged and self.revision >= revision):
            await self._move()

    async def _move(self) -> None:
        """Return once work has ended, or was asked for."""
        self._moved.clear()
        await self._moved.wait()

    def reevaluate(self, keys: Iterable[Key]) -> None:
        """Evaluate these intents whether or not their memos are valid."""
        self._scheduler.reevaluate(keys)
        self._applied()

    def look_over(self, key: Key) -> None:
        """Evaluate this intent once more, after all live jobs, whether or not its memo is valid. Call ``reevaluate``
        afterwards."""
        self._scheduler.look_over(key)

    def plan(self, names: Iterable[Name]) -> None:
        """Plan these objects again, whether or not anything has changed."""
        self._objects.plan(names)
        self.advance()

    async def read_back(self, name: Name) -> None:
        """Read an object from the API server, since an event of it may have been missed."""
        key = self._logic.named(name.kind, name.fq_name)
        if key is not None:
            await self._read_back.object(key, name)

    def reload(
        self, reactions: ReactionMap, settings: Mapping[str, Any], unset: Iterable[str], *, other_edges: bool
    ) -> None:
        """Use this reaction map from now on, set ``settings``, and remove those named by ``unset``. The intents that
        read them are evaluated; those that only the map concerns are the caller's (``look_over``). ``other_edges``:
        whether the edges differ from those of the former map."""
        self._logic.set_reactions(reactions)
        self._evaluator.set_edges(edges_of(reactions), other_edges=other_edges)
        for name, value in settings.items():
            self._scheduler.schedule(self._logic.set_setting(name, value).jobs)
        for name in unset:
            self._scheduler.schedule(self._logic.unset_setting(name).jobs)
        self._applied()

    def report_missing_reaction(self, pair: tuple[str, str]) -> None:
        """Count and log a pair of kinds (reader, read) between which the reaction map has no path."""
        self._evaluator.note_missing(pair)

    def withhold(self, reason: str, message: str) -> None:
        """Allow no new write until ``allow``. ``message``: for people."""
        self._permission.withhold(reason, message)

    def allow(self, reason: str) -> None:
        """Remove a reason for withholding writes. Without any left, what was only planned until now is carried out."""
        if self._permission.allow(reason):
            self._objects.plan(sorted(self._states.planned), resync=True)
            self._allocations.resume()
            self.advance()

    def see_by(self, watch: Watch) -> None:
        """Require an open watch for writes."""
        self._permission.see_by(watch)

    def confirm_restores(self) -> None:
        """After a restore of the store, wait for the caller to ``allow`` writes. It must call ``compared`` for that."""
        self._confirms_restores = True

    def lead_by(self, fence: Fence, on_fenced: Callable[[str], None]) -> None:
        """Require a leadership for writes. ``fence``: the fence of the leadership, None while it is not certain.
        ``on_fenced``: called when the server rejects this fence."""
        self._permission.lead_by(fence, on_fenced)

    def about(self, subject: Key | Name) -> dict[str, Any]:
        """The structured fields of a log line about an intent or object."""
        return self._log_fields.about(subject)

    def close(self) -> None:
        """Cancel all back-offs."""
        self._scheduler.close()
        self._objects.close()

    def last_good_values(self) -> dict[Key, Resource]:
        """The values by which held intents go on yielding facts; a restart would lose them."""
        return self._logic.last_good_values(self._states.held)

    def held_facts(self) -> dict[Key, HeldFacts]:
        """The facts of intents whose last run did not complete; a restart would lose them."""
        return self._logic.held_facts()

    @property
    def listed(self) -> bool:
        """Whether the world was listed once."""
        return self._applier.listed

    @property
    def first_pass_complete(self) -> bool:
        """Whether everything of a listing was evaluated once."""
        return self._orphan_collector.complete

    @property
    def revision(self) -> int:
        """The last applied revision."""
        return self._logic.revision

    @property
    def writes(self) -> int:
        """How many writes were acknowledged since the start."""
        return self._sender.written

    @property
    def last_written_revision(self) -> int:
        """The highest revision that an acknowledged write reported, and that the watch is expected to reach."""
        return self._sender.last_revision

    @property
    def has_held(self) -> bool:
        """Whether an intent is held."""
        return bool(self._states.held)

    @property
    def reachable(self) -> bool:
        """Whether the API server answered the last request."""
        return self.throttle.reachable

    @property
    def restores(self) -> int:
        """How often the store was found restored to an older state."""
        return self._restore_guard.times

    @property
    def withheld(self) -> Mapping[str, str]:
        """Why writes are withheld: reason → message."""
        return self._permission.reasons

    @property
    def may_write(self) -> bool:
        """Whether a write may begin right now."""
        return self._permission.granted

    @property
    def quiet(self) -> bool:
        """Nothing is queued, under way, or written and not yet seen. Objects in back-off don't count."""
        return (
            self.first_pass_complete
            and self._scheduler.idle
            and not self._evaluator.cooling_down
            and self._objects.idle
            and not self._reconciler.in_flight
            and self._allocations.idle
            and self.revision >= self._sender.last_revision
        )

    @property
    def converged(self) -> bool:
        """Quiet, and nothing is deferred except objects listed as rejected or contended. On a standby: nothing is left
        for the leader to do either, judging by what this process sees."""
        states, withheld = self._states, self._permission.reasons
        if withheld and OBSERVING not in withheld and (states.planned or self._allocations.outstanding):
            return False
        reported = all(name in states.refused or name in states.contended for name in self._objects.delayed)
        return self.quiet and self._allocations.settled and reported
