"""The engine: the nine steps of an event's path (docs/architecture.md), wired in one file.

``__init__`` builds the queues and then the steps from the last to the first, since each gets later ones; ``run`` shows
them in order. The **watch** delivers a batch (1), **logic** applies it and finds the affected intents (2), the
**scheduler** keeps one job per intent (3), **workers** take jobs (4) and **evaluate** them (5). What an evaluation
yields becomes **claims** on objects (6), each object is **planned** from all claims on it (7) and **written** (8), and
the **journal** records all that (9). ``watch/`` does step 1, classes in ``intentc/engine/`` do 2 to 8. Each gets the
stages (``logic`` …), queues (``scheduler`` for intents, ``object_queue`` for objects) and later steps that it uses. It
calls no earlier step but the queues; the engine's loops pass on what it returns. ``assembly.py`` builds the stages; its
callers (``service``, ``offline``) pass in what differs: etcd and HTTP, or memory.

State: whether planning may begin, and at which count of evaluations *evaluating* ends; steps and stages have the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from itertools import count
from typing import Any

import anyio

from ..evaluation import Naming, Runner
from ..journal import Journal
from ..logic import LiveWorld, Service
from ..logic.dependencies import ReactionMap
from ..model import Batch, Correction, HeldFacts, Key, Name, Resource, Snapshot
from ..planning import Assumed, ClaimBook, Planner
from ..writing import ReadService, WriteService
from .allocations import Allocations
from .api_throttle import ApiThrottle
from .applier import Applier, LastGoodValues
from .claims import Claims
from .drift import Drift
from .evaluator import Evaluator
from .live import Progress
from .log_fields import LogFields
from .marked_objects import MarkedObjects
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
from .state_tables import StateTables
from .status_pace import StatusPace
from .write_failures import WriteFailures

_MAX_BURST = 1000
"""Evaluations in a row after which writes get a turn although more jobs wait."""
_READ_BACK_PERIOD = 1.0
"""Seconds between checks for assumed writes whose echo is missing."""
_RELOAD_EVERY = 5
"""Checks between two reads of all allocations, while requests or releases wait for permission."""
_IN_FLIGHT = 400
"""Objects whose writes may be under way at once: enough to fill the permitted requests (``writing/endpoint.py``)."""
_DRAIN = 8.0
"""Seconds that writes under way get; then the lease is given back. The whole shutdown takes ten seconds at most."""


class Engine:
    """The engine. ``run`` serves until it is cancelled; ``step`` does the queued work once, in the caller's own task.
    ``names``: program (``envoy``) → how the names in its statistics and logs map to objects."""

    def __init__(
        self,
        *,
        installation: str,
        logic: Service,
        runner: Runner,
        book: ClaimBook,
        assumed: Assumed,
        planner: Planner,
        writer: WriteService,
        reader: ReadService,
        journal: Journal,
        states: StateTables,
        permission: Permission,
        throttle: ApiThrottle[Name],
        drift: Drift,
        status_pace: StatusPace,
        names: Mapping[str, Naming],
        workers: int = 4,
        in_flight: int = _IN_FLIGHT,
        last_good: LastGoodValues | None = None,
    ) -> None:
        self._logic, self._tables = logic, states
        self._drift, self._permission, self._workers, self._burst_ends_at = drift, permission, workers, 0
        self._planning, self._moved = asyncio.Event(), asyncio.Event()
        self._log_fields = log = LogFields(logic=logic, journal=journal)
        self._objects = objects = ObjectQueue()
        self._scheduler = scheduler = Scheduler(logic=logic)  # 3
        self._marked = marked = MarkedObjects(assumed=assumed, book=book, planner=planner, objects=objects)
        self._read_back = ReadBack(reader=reader, assumed=assumed, book=book, objects=objects, log_fields=log)
        failures = WriteFailures(
            states=states, permission=permission, throttle=throttle, objects=objects,
            read_back=self._read_back, log_fields=log,
        )  # fmt: skip
        self._sender = sender = Sender(  # 8
            logic=logic, assumed=assumed, writer=writer, journal=journal, permission=permission, objects=objects,
            failures=failures, log_fields=log,
        )  # fmt: skip
        pauses = Pauses(logic=logic, book=book, assumed=assumed, states=states)
        repairs = Repairs(book=book, assumed=assumed, states=states, drift=drift, objects=objects, log_fields=log)
        object_planner = ObjectPlanner(  # 7
            planner=planner, states=states, permission=permission, objects=objects, pauses=pauses, repairs=repairs,
            drift=drift, status_pace=status_pace,
        )  # fmt: skip
        self._reconciler = Reconciler(
            throttle=throttle, states=states, objects=objects, object_planner=object_planner, repairs=repairs,
            sender=sender, failures=failures, marked=marked, planning=self._planning, in_flight=in_flight,
        )  # fmt: skip
        self._orphan_collector = OrphanCollector(
            logic=logic, book=book, planner=planner, drift=drift, objects=objects, marked=marked
        )
        self._allocations = allocations = Allocations(
            installation=installation, logic=logic, writer=writer, reader=reader, permission=permission,
            throttle=throttle, states=states, scheduler=scheduler, marked=marked,
        )  # fmt: skip
        self._evaluator = Evaluator(  # 4, 5
            logic=logic, runner=runner, states=states, journal=journal, scheduler=scheduler, allocations=allocations,
            claims=Claims(  # 6
                book=book, guard=planner.guard, drift=drift, objects=objects, allocations=allocations, marked=marked
            ),
            log_fields=log,
        )  # fmt: skip
        self._restore_guard = RestoreGuard(
            logic=logic, assumed=assumed, journal=journal, permission=permission, objects=objects,
            allocations=allocations, sender=sender,
        )  # fmt: skip
        object_changes = ObjectChanges(
            logic=logic, book=book, assumed=assumed, planner=planner, states=states, objects=objects, marked=marked
        )
        self._applier = Applier(  # 2
            logic=logic, journal=journal, scheduler=scheduler, evaluator=self._evaluator,
            object_changes=object_changes, orphan_collector=self._orphan_collector,
            restore_guard=self._restore_guard, log_fields=log, last_good=last_good,
        )  # fmt: skip
        self.operator_actions = OperatorActions(
            logic=logic, book=book, planner=planner, states=states, drift=drift, scheduler=scheduler, objects=objects
        )
        self.throttle = throttle
        self.reloads = ReloadRecord()
        self.world: LiveWorld = logic
        self.planner, self.runner, self.states = planner, runner, states
        self.jobs, self.objects = scheduler, objects
        self.names = names
        self.journal = journal  # 9

    async def run(self, events: AsyncIterator[Snapshot | Batch]) -> None:
        """Serve until cancelled; then no write begins, and writes under way may end. The allocations must be loaded.
        Raises a group with ``Fenced`` if a write lacks the leader's fence and ``require_leadership`` was not called."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._apply, events)  # 2 → 3
                for _ in range(self._workers):
                    group.start_soon(self._evaluate)  # 3, 4, 5, 6 → object queue
                    group.start_soon(self._reconcile)  # 7, 8
                group.start_soon(self._follow_writes)
                group.start_soon(self._allocate)
                group.start_soon(self._housekeep)
        finally:
            self._permission.withhold(ENDING, "no write is begun any more")
            with anyio.move_on_after(_DRAIN, shield=True):
                await self._reconciler.drain()

    async def _apply(self, events: AsyncIterator[Snapshot | Batch]) -> None:
        async for item in events:
            await self.apply_item(item)

    async def _evaluate(self) -> None:
        while True:
            slow = await self._evaluator.serve_next()
            self.advance()
            await self._evaluator.yield_to_loop(give_way=slow)

    async def _reconcile(self) -> None:
        while True:
            if not await self._reconciler.serve_next():
                self.advance()
            await self._reconciler.yield_to_loop()

    async def _follow_writes(self) -> None:
        while True:
            await self._reconciler.ended()
            self.advance()

    async def _allocate(self) -> None:
        while True:
            for entry in await self._allocations.next(self._planning):
                self._after_allocation(await self._allocations.serve_in_turn(entry))

    async def _housekeep(self) -> None:
        """Once a second: read back assumed writes without an echo, and forget what is no longer needed."""
        for rounds in count(1):
            await asyncio.sleep(_READ_BACK_PERIOD)
            if await self._read_back.unseen():
                self._sender.expect_no_echo()
            self._drift.tidy()
            if self._permission.withheld_for and self._allocations.outstanding and not rounds % _RELOAD_EVERY:
                # The leader may have been granted the requested allocations meanwhile, and no event reports that.
                self._allocations.invalidate()
            self._orphan_collector.forget_deleted_owners()

    async def step(self, items: list[Snapshot | Batch]) -> bool:
        """Apply ``items`` and do the queued work, in this task, in a fixed order. True if anything was done: then call
        it again, since work may be left, and the store may hold new changes."""
        for item in items:
            await self.apply_item(item)
        has_worked = bool(items)
        while (key := self._scheduler.take()) is not None:
            self._evaluator.serve(key)
            has_worked = True
        self.advance()
        if not self._allocations.idle:
            for entry in self._allocations.take_all():
                self._after_allocation(await self._allocations.serve(entry))
            has_worked = True
            if not (self._scheduler.idle and self._allocations.idle):
                return True
        for name in self._objects.take_all():
            await self._reconciler.serve(name)
            has_worked = True
        self.advance()
        return has_worked

    async def apply_item(self, item: Snapshot | Batch) -> None:
        """Apply one item of the watch."""
        await self._applier.take(item)
        self._after_apply()

    def correct(self, missed: Correction) -> None:
        """Apply what the background relist found."""
        self._applier.apply(missed)
        self._after_apply()

    async def load_allocations(self) -> None:
        """Read all allocations: before the first evaluation, and when other processes may have been granted some."""
        await self._allocations.load()
        self._after_allocation(True)

    def _after_allocation(self, loaded: bool) -> None:
        """Continue after a request to the allocator was served. ``loaded``: all allocations were read; then release
        what nobody needs, and let affected intents be evaluated first."""
        if not loaded:
            self.advance()
            return
        if self.listed:
            # Each pass releases what nobody needs, but a load starts no pass: it releases that itself.
            self._allocations.release_unneeded()
        self._after_apply()

    def _after_apply(self) -> None:
        """Continue after inputs were applied: let the affected intents be evaluated before anything is planned."""
        if self._planning.is_set() and not self._scheduler.idle:
            self._planning.clear()
            self._burst_ends_at = self._evaluator.runs + _MAX_BURST
        self.advance()

    def advance(self) -> None:
        """Check whether planning may begin; wake ``settled``. Call it whenever work has ended or has been queued."""
        if self._marked.awaits_pass and not self._permission.withheld_for:
            self._orphan_collector.request()
        due = self._orphan_collector.due
        # A pass waits for cooling intents as well: what they have yielded may be stale.
        cooling_down = due and self._evaluator.cooling_down
        if self.listed and self._scheduler.idle and not cooling_down:
            if due:
                is_first = not self.first_pass_complete
                self._allocations.release_unneeded()
                is_awaited = self._marked.awaits_pass
                found = self._orphan_collector.make_pass(claimed_too=is_awaited and not is_first)
                if is_first:
                    self._marked.left_over(found, self._allocations.leaving)
                elif is_awaited:
                    self._marked.left_over(found)
            self._planning.set()
        elif not due and self._evaluator.runs >= self._burst_ends_at:
            self._planning.set()
        if self._planning.is_set():
            self._allocations.queue_releases()
            if not self._orphan_collector.due and self._restore_guard.evaluated():
                self.lift(RESTORED)
        self._moved.set()

    async def wait_until_restore_is_evaluated(self) -> None:
        """After a restore that requires confirmation, return once all is evaluated; writes are still withheld."""
        await self._restore_guard.wait_until_evaluated()

    async def settled(self, revision: int = 0) -> None:
        """Return once everything up to ``revision`` is applied and the engine has converged."""
        while not (self.converged and self.revision >= revision):
            self._moved.clear()
            await self._moved.wait()

    def reevaluate(self, keys: Iterable[Key]) -> None:
        """Evaluate these intents whether or not their memos are valid."""
        self._scheduler.reevaluate(keys)
        self._after_apply()

    def resync(self, key: Key) -> None:
        """Run an intent as a resync job, even if its memo is valid. After the last intent, call ``reevaluate(())``."""
        self._scheduler.resync(key)

    def enqueue_plans(self, names: Iterable[Name]) -> None:
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
        read them are evaluated. ``other_edges``: whether the edges differ from those of the former map; then missing
        reactions are counted anew, and the caller enqueues the intents that this may concern (``resync``)."""
        self._logic.set_reactions(reactions)
        if other_edges:
            self._evaluator.missing_reactions.clear()
        for name, value in settings.items():
            self._scheduler.schedule(self._logic.set_setting(name, value).jobs)
        for name in unset:
            self._scheduler.schedule(self._logic.unset_setting(name).jobs)
        self._after_apply()

    def report_missing_reaction(self, pair: tuple[str, str]) -> None:
        """Count and log a pair of kinds (reader, read) between which the reaction map has no path."""
        self._evaluator.note_missing(pair)

    def withhold(self, reason: str, message: str) -> None:
        """Allow no new write until ``lift``. ``message``: for people."""
        self._permission.withhold(reason, message)

    def lift(self, reason: str) -> None:
        """Remove a reason for withholding writes. After the last one, reported plans are made again and carried out."""
        if self._permission.lift(reason):
            self._objects.plan(sorted(self._tables.planned), resync=True)
            self._allocations.resume()
            self.advance()

    def require_watch(self, watch: Watch) -> None:
        """Require an open watch for writes."""
        self._permission.require_watch(watch)

    def require_restore_confirmation(self) -> None:
        """After a restore, keep writes withheld until the caller calls ``lift(RESTORED)``;
        ``wait_until_restore_is_evaluated`` shows when it may."""
        self._restore_guard.require_confirmation()

    def require_leadership(self, fence: Fence, on_fenced: Callable[[str], None]) -> None:
        """Require a leadership for writes. ``fence``: the fence of the leadership, None while it is not certain.
        ``on_fenced``: called when the server rejects this fence."""
        self._permission.require_leadership(fence, on_fenced)

    def about(self, subject: Key | Name) -> dict[str, Any]:
        """The structured fields of a log line about an intent or object."""
        return self._log_fields.about(subject)

    def close(self) -> None:
        """Cancel all back-offs."""
        self._scheduler.close()
        self._objects.close()
        self._allocations.close()

    def last_good_values(self) -> dict[Key, Resource]:
        """The values by which held intents keep yielding facts; ``retained`` stores them for the next process."""
        return self._logic.last_good_values(self._tables.held)

    def held_facts(self) -> dict[Key, HeldFacts]:
        """The facts of intents whose last run did not complete; ``retained`` stores them for the next process."""
        return self._logic.held_facts()

    @property
    def listed(self) -> bool:
        """Whether the world was listed once."""
        return self.world.listed

    @property
    def first_pass_complete(self) -> bool:
        """Whether the first pass was made: the whole world was evaluated, and orphans are queued."""
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
    def restores(self) -> int:
        """How often the store was found restored to an older state."""
        return self._restore_guard.times

    @property
    def withheld(self) -> Mapping[str, str]:
        """Why writes are withheld: reason → message."""
        return self._permission.withheld_for

    @property
    def may_write(self) -> bool:
        """Whether a write may begin right now."""
        return self._permission.granted

    @property
    def quiet(self) -> bool:
        """See ``phases.py``: what is in back-off does not count."""
        return (
            self.first_pass_complete
            and self._scheduler.idle
            and not self._evaluator.cooling_down
            and self._objects.idle
            and self._reconciler.idle
            and self._allocations.idle
            and self.revision >= self._sender.last_revision
        )

    @property
    def converged(self) -> bool:
        """Quiet; no allocation backs off, nor any object that is not rejected or contended. Failed intents may. While
        writes are withheld (unless observing), also: no plan or allocation waits for permission."""
        states, withheld = self._tables, self._permission.withheld_for
        if withheld and OBSERVING not in withheld and (states.planned or self._allocations.outstanding):
            return False
        reported = all(name in states.rejected or name in states.contended for name in self._objects.delayed)
        return self.quiet and self._allocations.settled and reported

    @property
    def progress(self) -> Progress:
        """Where the engine stands now."""
        evaluator, allocations, throttle = self._evaluator, self._allocations, self.throttle
        return Progress(
            first_pass_complete=self.first_pass_complete,
            jobs=self.jobs.pending,
            jobs_idle=self.jobs.idle,
            oldest_job_seconds=self.jobs.oldest_seconds,
            cooling_down=len(evaluator.cooling_down),
            objects=self.objects.pending,
            queues_settled=self.jobs.settled and self.objects.settled,
            in_flight=self._reconciler.in_flight,
            requested_allocations=allocations.requested,
            allocations_idle=allocations.idle,
            allocations_settled=allocations.settled,
            may_write=self.may_write,
            withheld=dict(self.withheld),
            reachable=throttle.reachable,
            pause_seconds=throttle.closed_for,
            last_written_revision=self._sender.last_revision,
            evaluations=evaluator.runs,
            evaluation_seconds=evaluator.seconds,
            slow_evaluations=evaluator.slow_runs,
            idle_walks=evaluator.idle_walks,
            missing_reactions=dict(evaluator.missing_reactions),
            writes=self.writes,
            drift_repairs=self._drift.repairs,
            contentions=self._drift.contentions,
            pauses=throttle.pauses,
        )
