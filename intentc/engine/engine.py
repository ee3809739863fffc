"""The engine: the nine steps of an event's path (docs/architecture.md), wired in one file.

``__init__`` builds the owners, each of which has its state and, where it repeats work, its loop. The **watch** delivers
a batch (1), **logic** applies it and finds the affected intents (2), **jobs** keeps one for each intent (3), which the
**evaluator** takes (4) and evaluates (5). What an evaluation yields becomes **claims** on objects (6), **writes** plans
each object from all claims on it (7) and sends what it needs (8), and the **journal** records all that (9). ``watch/``
does step 1, classes in ``intentc/engine/`` do 2 to 8. ``assembly.py`` builds the stages; its callers (``service``,
``offline``) pass in what differs: etcd and HTTP, or memory.

``phases.py`` says when plans may begin; ``work_ended`` is the one place that reports to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from functools import partial
from itertools import count
from typing import Any

import anyio

from ..evaluation import Naming, Runner
from ..journal import Journal
from ..logic import LiveWorld, Service
from ..logic.dependencies import ReactionMap
from ..model import Batch, Correction, HeldFacts, Key, Name, Resource, Snapshot
from ..planning import Planner
from ..writing import ReadService, WriteService
from .allocations import Allocations
from .api_throttle import ApiThrottle
from .applier import Applier, LastGoodValues, ObjectChanges
from .drift import Drift, Repairs
from .evaluator import Claims, Evaluator
from .jobs import Jobs
from .live import ReloadRecord
from .log_fields import LogFields
from .marked_objects import MarkedObjects, Marks
from .object_planner import ObjectPlanner, StatusPace, make_pass
from .objects import Objects
from .operator_actions import OperatorActions
from .permission import ENDING, OBSERVING, RESTORED, Permission
from .phases import Happened, Phase, Phases
from .restore_guard import RestoreGuard
from .state_tables import StateTables
from .write_failures import ReadBack, WriteFailures
from .writes import Sender, Writes

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
        logic: Service,
        runner: Runner,
        planner: Planner,
        writer: WriteService,
        reader: ReadService,
        journal: Journal,
        states: StateTables,
        objects: Objects,
        marks: Marks,
        permission: Permission,
        throttle: ApiThrottle,
        drift: Drift,
        status_pace: StatusPace,
        names: Mapping[str, Naming],
        in_flight: int = _IN_FLIGHT,
        last_good: LastGoodValues | None = None,
    ) -> None:
        self._logic, self.permission, self.drift = logic, permission, drift
        self._moved = asyncio.Event()
        self._log_fields = log = LogFields(logic, journal)
        self._phases = phases = Phases()
        self.jobs = jobs = Jobs(logic)  # 3
        self._marked = marked = MarkedObjects(marks, planner, objects)
        self._read_back = ReadBack(reader, planner, objects, log)
        self.sender = Sender(logic, planner.assumed, writer, journal, permission, throttle, log)
        repairs = Repairs(planner, states, drift, objects, log)
        self.writes = Writes(  # 7, 8
            phases,
            throttle,
            states,
            objects,
            ObjectPlanner(logic, planner, states, permission, objects, repairs, drift, status_pace),
            repairs,
            self.sender,
            WriteFailures(states, throttle, objects, self._read_back, log),
            marked,
            in_flight=in_flight,
            on_end=self.work_ended,
        )
        self.allocations = Allocations(
            logic, writer, reader, permission, throttle, phases, states, jobs, marked, on_end=self.work_ended
        )
        claims = Claims(planner, drift, objects, self.allocations, marked)  # 6
        self.evaluator = Evaluator(  # 4, 5
            logic, runner, states, journal, jobs, self.allocations, claims, log, on_end=self._job_ended
        )
        self.restore_guard = RestoreGuard(
            logic, planner.assumed, journal, permission, objects, self.allocations, self.sender
        )
        changes = ObjectChanges(logic, planner, states, objects, marks)
        self._applier = Applier(  # 2
            logic,
            journal,
            jobs,
            self.evaluator,
            planner,
            objects,
            changes,
            phases,
            self.restore_guard,
            log,
            last_good,
        )
        self.operator_actions = OperatorActions(logic, planner, states, drift, jobs, objects)
        self.throttle = throttle
        self.world: LiveWorld = logic
        self.planner, self.runner, self.states, self.objects = planner, runner, states, objects
        self.names = names
        self.reloads = ReloadRecord()
        self.journal = journal  # 9

    async def run(self, events: AsyncIterator[Snapshot | Batch]) -> None:
        """Serve until cancelled; then no write begins, and writes under way may end. The allocations must be loaded.
        Raises a group with ``Fenced`` if a write lacks the leader's fence and the permission requires no leadership."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._apply, events)  # 2 → 3
                group.start_soon(self.evaluator.run)  # 3, 4, 5, 6 → objects
                group.start_soon(self.allocations.loop.run)
                group.start_soon(partial(self.writes.loop.run, drain=False))  # 7, 8
                group.start_soon(self._housekeep)
        finally:
            self.permission.withhold(ENDING, "no write is begun any more")
            await self.writes.loop.drain(_DRAIN)

    async def _apply(self, events: AsyncIterator[Snapshot | Batch]) -> None:
        async for item in events:
            await self.apply_item(item)

    async def _housekeep(self) -> None:
        """Once a second: read back assumed writes without an echo, and forget what is no longer needed."""
        for rounds in count(1):
            await asyncio.sleep(_READ_BACK_PERIOD)
            if await self._read_back.unseen():
                self.sender.expect_no_echo()
            self.drift.tidy()
            if self.permission.withheld_for and self.allocations.outstanding and not rounds % _RELOAD_EVERY:
                # The leader may have been granted the requested allocations meanwhile, and no event reports that.
                self.allocations.invalidate()
            self._forget_deleted_owners()

    async def step(self, items: list[Snapshot | Batch]) -> bool:
        """Apply ``items`` and do the queued work, in this task, in a fixed order. True if anything was done: then call
        it again, since work may be left, and the store may hold new changes."""
        for item in items:
            await self.apply_item(item)
        has_worked = bool(items)
        while await self.evaluator.loop.step():
            has_worked = True
        self.work_ended()
        if await self.allocations.loop.step():
            has_worked = True
            if not (self.jobs.idle and self.allocations.loop.idle):
                return True
        return await self.writes.loop.step() or has_worked

    async def apply_item(self, item: Snapshot | Batch) -> None:
        """Apply one item of the watch."""
        await self._applier.take(item)
        self.work_ended()

    def correct(self, missed: Correction) -> None:
        """Apply what the background relist found."""
        self._applier.apply(missed)
        self.work_ended()

    async def load_allocations(self) -> None:
        """Read all allocations: before the first evaluation, and when other processes may have been granted some."""
        await self.allocations.load()
        self.work_ended()

    def _job_ended(self) -> None:
        if self._phases.job_ended():
            self._phases.happened(Happened.BURST_OVER)
        self.work_ended()

    def work_ended(self) -> None:
        """Report to the phases that work has ended or inputs were applied, and continue where they allow it. The loops
        call it after each run, the methods that apply inputs at their end."""
        phases, could_plan = self._phases, self._phases.may_plan
        if self._marked.awaits_pass and not self.permission.withheld_for:
            phases.happened(Happened.FREEING_WAITS)
        if phases.phase is not Phase.PLANNING and self.jobs.idle:
            # A pass waits for cooling intents as well: what they have yielded may be stale.
            what = Happened.JOBS_DONE if self.evaluator.cooling_down else Happened.ALL_EVALUATED
            if phases.happened(what):
                self._make_pass()
        if phases.may_plan:
            self.allocations.queue_releases()
            if RESTORED in self.permission.withheld_for and not phases.pass_is_due and self.restore_guard.evaluated():
                self.lift(RESTORED)
            if not could_plan:
                self.allocations.loop.wake()
                self.writes.loop.wake()
        self._moved.set()

    def _make_pass(self) -> None:
        """Queue what nobody claims. Runs once everything listed is evaluated."""
        marked, is_first = self._marked, self._phases.passes == 1
        self.allocations.release_unneeded()
        is_awaited = marked.awaits_pass
        found = make_pass(self._logic, self.planner, self.drift, self.objects, claimed_too=is_awaited and not is_first)
        if is_first:
            marked.left_over(found, self.allocations.leaving)
        elif is_awaited:
            marked.left_over(found)

    def _forget_deleted_owners(self) -> None:
        """Have the guard forget owners that exist again, and owners whose last object is gone. The latter's deletion
        may have been deferred for long."""
        guard, has_intent = self.planner.guard, self._logic.has_intent
        marks = self._marked.marks
        guard.forget({owner for owner in guard.deleted_owners if has_intent(owner) or not marks.of(owner)})

    async def settled(self, revision: int = 0) -> None:
        """Return once everything up to ``revision`` is applied and the engine has converged."""
        while not (self.converged and self.revision >= revision):
            self._moved.clear()
            await self._moved.wait()

    def reevaluate(self, keys: Iterable[Key]) -> None:
        """Evaluate these intents whether or not their memos are valid."""
        self.jobs.reevaluate(keys)
        self._inputs_changed()

    def _inputs_changed(self) -> None:
        """Report new inputs, so that the affected intents are evaluated before anything is planned."""
        if not self.jobs.idle:
            self._phases.happened(Happened.INPUTS)
        self.work_ended()

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
        reactions are counted anew, and the caller enqueues the intents that this may affect (``resync``)."""
        self._logic.set_reactions(reactions)
        if other_edges:
            self.evaluator.missing_reactions.clear()
        for name, value in settings.items():
            self.jobs.schedule(self._logic.set_setting(name, value).jobs)
        for name in unset:
            self.jobs.schedule(self._logic.unset_setting(name).jobs)
        self._inputs_changed()

    def withhold(self, reason: str, message: str) -> None:
        """Allow no new write until ``lift``. ``message``: for people."""
        self.permission.withhold(reason, message)

    def lift(self, reason: str) -> None:
        """Remove a reason for withholding writes. After the last one, reported plans are made again and carried out."""
        if self.permission.lift(reason):
            self.objects.plan(sorted(self.states.planned), resync=True)
            self.allocations.resume()
            self.work_ended()

    def about(self, subject: Key | Name) -> dict[str, Any]:
        """The structured fields of a log line about an intent or object."""
        return self._log_fields.about(subject)

    def close(self) -> None:
        """Cancel all back-offs."""
        self.jobs.close()
        self.objects.close()
        self.allocations.loop.queue.close()

    def last_good_values(self) -> dict[Key, Resource]:
        """The values by which held intents keep yielding facts; ``retained`` stores them for the next process."""
        return self._logic.last_good_values(self.states.held)

    def held_facts(self) -> dict[Key, HeldFacts]:
        """The facts of intents whose last run did not complete; ``retained`` stores them for the next process."""
        return self._logic.held_facts()

    @property
    def first_pass_complete(self) -> bool:
        """Whether the first pass was made: the whole world was evaluated, and orphans are queued."""
        return self._phases.passes > 0

    @property
    def revision(self) -> int:
        """The last applied revision."""
        return self._logic.revision

    @property
    def may_write(self) -> bool:
        """Whether a write may begin right now."""
        return self.permission.granted

    @property
    def quiet(self) -> bool:
        """See docs/engine.md §15: what is in back-off does not count."""
        return (
            self.first_pass_complete
            and self.jobs.idle
            and not self.evaluator.cooling_down
            and self.objects.idle
            and self.allocations.loop.idle
            and self.revision >= self.sender.last_revision
        )

    @property
    def converged(self) -> bool:
        """Whether it is quiet, and no allocation and no object backs off; rejected and contended objects and failed
        intents may. While writes are withheld (unless observing), no plan or allocation may wait for permission
        either."""
        states, withheld = self.states, self.permission.withheld_for
        if withheld and OBSERVING not in withheld and (states.planned or self.allocations.outstanding):
            return False
        reported = all(name in states.rejected or name in states.contended for name in self.objects.delayed())
        return self.quiet and self.allocations.loop.settled and reported
