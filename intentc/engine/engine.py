"""The engine: the nine steps of an event's path (docs/architecture.md), wired on one page.

Read it from top to bottom. The **watch** delivers a batch (1), **logic** applies it and returns the affected intents
(2), the **queue** keeps one job per intent (3), **workers** take jobs (4) and **evaluate** them (5). The output of an
evaluation becomes **claims** on objects (6), each object is **planned** from all claims on it (7) and **written** (8),
and every step adds a line to the **journal** (9). Each step is a class in ``intentc/engine/``; the stages that they
call know only the model. ``assembly.py`` decides which parts are used: a real etcd and HTTP, or memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from typing import Any

import anyio

from ..model import Batch, Correction, HeldFacts, Key, Name, Resource, Snapshot
from .allocations import Allocations
from .evaluator import Evaluator
from .operator_actions import OperatorActions
from .orphan_collector import OrphanCollector
from .parts import Parts
from .permission import ENDING, OBSERVING
from .reconciler import Reconciler
from .report import is_healthy, report
from .restore_guard import RestoreGuard
from .scheduler import LastGoodValues, Scheduler

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
    """One compiler at work. ``run`` serves until it is cancelled; ``step`` makes one pass in the caller's own task."""

    def __init__(
        self,
        parts: Parts,
        *,
        workers: int = 4,
        in_flight: int = _IN_FLIGHT,
        last_good: LastGoodValues | None = None,
    ) -> None:
        self.parts = parts
        self._workers = workers
        self._idle = asyncio.Event()
        self._moved = asyncio.Event()
        self._burst = 0
        self.orphan_collector = OrphanCollector(parts)
        self.scheduler = Scheduler(
            parts, on_gone=self._gone, on_stored=self._stored, before=self._before, last_good=last_good
        )
        self.numbers = Allocations(parts, self.scheduler, self.orphan_collector.carriers, on_loaded=self._applied)
        self.evaluator = Evaluator(parts, self.scheduler, on_outcome=self.numbers.outcome, on_done=self.progress)
        self.reconciler = Reconciler(
            parts,
            self._idle,
            in_flight=in_flight,
            on_create=self.orphan_collector.note,
            on_success=self.orphan_collector.ended,
            on_change=self.progress,
        )
        self.operator_actions = OperatorActions(parts, self.scheduler)
        self.restore_guard = RestoreGuard(parts, self.numbers, self.reconciler.sender)
        parts.permission.on_given = self._permitted

    async def run(self, events: AsyncIterator[Snapshot | Batch]) -> None:
        """Serve until cancelled. Then no write begins any more, and those under way may end. The allocations must have
        been loaded (``numbers.load``)."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self.scheduler.run, events, self._applied)  # 1, 2 → 3
                for _ in range(self._workers):
                    group.start_soon(self.evaluator.run)  # 3, 4, 5 → 6
                    group.start_soon(self.reconciler.run)  # 6, 7, 8
                group.start_soon(self.numbers.run, self._idle, self.progress)
                group.start_soon(self._read_back)
        finally:
            self.parts.permission.withhold(ENDING, "no write is begun any more")
            with anyio.move_on_after(_DRAIN, shield=True):
                await self.reconciler.drain()

    def _gone(self, origin: Key, live: bool) -> None:
        """An intent ended: its allocations may be freed. If the end was seen live, its deletes need no approval."""
        self.numbers.release(origin.uuid)
        self.evaluator.forget(origin)
        if live:
            self.parts.planner.guard.owner_gone(origin.uuid)

    def _stored(self, names: Iterable[Name]) -> None:
        """Objects changed in the store: plan the objects that wait for them."""
        self.orphan_collector.seen(names)
        self.reconciler.wake(names)

    def _before(self, item: Snapshot | Batch | Correction) -> None:
        """Prepare for a listing: request a full pass, and drop what is remembered if the listing is from the past."""
        if isinstance(item, Snapshot):
            self.orphan_collector.due = True
            if self.scheduler.listed:
                self.restore_guard.look(item)

    def _permitted(self) -> None:
        """Writes are permitted now: carry out what was only planned until now."""
        for name in sorted(self.parts.states.planned):
            self.parts.objects.add(name, resync=True)
        self.numbers.resume()
        self.progress()

    def reevaluate(self, keys: Iterable[Key]) -> None:
        """Evaluate these intents whether or not their memos are valid."""
        for key in keys:
            self.scheduler.causes.pop(key, None)
            if self.parts.logic.exists(key):
                self.parts.jobs.add(key)
        self._applied()

    def look_over(self, key: Key) -> None:
        """Evaluate this intent once more, after all live jobs, whether or not its memo is valid. Call ``reevaluate``
        afterwards."""
        job = self.scheduler.causes.get(key)
        if job is not None:
            self.scheduler.causes[key] = job._replace(by_readers=True)
        if self.parts.logic.exists(key):
            self.parts.jobs.add(key, resync=True)

    def correct(self, missed: Correction) -> None:
        """Apply what the background relist found."""
        self.scheduler.apply(missed)
        self._applied()

    def _applied(self) -> None:
        """A batch was applied: evaluate the affected intents before anything is planned."""
        if self._idle.is_set() and not self.parts.jobs.idle:
            self._idle.clear()
            self._burst = self.evaluator.runs + _BURST
        self.progress()

    def progress(self) -> None:
        """Work ended: check whether planning may go on, and wake the waiters for quiet."""
        # A pass needs expensive intents as well: a deferred intent's last output may be stale.
        cooling_down = self.orphan_collector.due and self.evaluator.cooling_down
        if self.scheduler.listed and self.parts.jobs.idle and not cooling_down:
            if self.orphan_collector.due:
                self._make_pass()
            self._idle.set()
        elif not self.orphan_collector.due and self.evaluator.runs >= self._burst:
            self._idle.set()
        if self._idle.is_set():
            self.numbers.queue_releases()
            if not self.orphan_collector.due:
                self.restore_guard.idle()
        self._moved.set()

    def _make_pass(self) -> None:
        for origin in self.numbers.origins():
            if self.orphan_collector.origin_absent(origin):
                self.numbers.release(origin)
        self.orphan_collector.make_pass()

    async def _read_back(self) -> None:
        """Settle assumed writes without an echo by reading the objects back."""
        looks = 0
        while True:
            await asyncio.sleep(_READ_BACK_PERIOD)
            await self.reconciler.settle_assumed()
            self.parts.drift.tidy()
            looks += 1
            if looks % _LEDGER_LOOK == 0 and self.parts.permission.reasons and self.numbers.outstanding:
                # The leader may have been granted them meanwhile, and no event reports allocations.
                self.numbers.invalidate()
            self.parts.planner.guard.settle(self._leaves_something)

    def _leaves_something(self, origin: str) -> bool:
        """Whether objects of a deleted intent are still in the store: their deletion may be deferred for long."""
        return bool(self.orphan_collector.carriers(origin)) and self.orphan_collector.origin_absent(origin)

    def last_good_values(self) -> dict[Key, Resource]:
        """The values by which held intents go on yielding facts; a restart would lose them."""
        return self.parts.logic.last_good_values(self.parts.states.held)

    def held_facts(self) -> dict[Key, HeldFacts]:
        """The facts of intents whose last run did not complete; a restart would lose them."""
        return self.parts.logic.held_facts()

    @property
    def quiet(self) -> bool:
        """Nothing is queued, under way, or written and not yet seen. Objects in back-off don't count."""
        parts = self.parts
        return (
            self.orphan_collector.complete
            and parts.jobs.idle
            and not self.evaluator.cooling_down
            and parts.objects.idle
            and not self.reconciler.in_flight
            and self.numbers.idle
            and parts.logic.revision >= self.reconciler.sender.last_revision
        )

    @property
    def converged(self) -> bool:
        """Quiet, and nothing is deferred except objects listed as rejected or contended. On a standby: nothing is left
        for the leader to do either, judging by what this process sees."""
        delayed, states = self.parts.objects.delayed(), self.parts.states
        withheld = self.parts.permission.reasons
        if withheld and OBSERVING not in withheld and (states.planned or self.numbers.outstanding):
            return False
        reported = all(name in states.refused or name in states.contended for name in delayed)
        return self.quiet and self.numbers.settled and reported

    @property
    def healthy(self) -> bool:
        """Nothing is held, rejected, contended, deferred or withheld."""
        return is_healthy(self.parts)

    async def settled(self, revision: int = 0) -> None:
        """Return once everything up to ``revision`` is applied and the engine has converged."""
        while not (self.converged and self.parts.logic.revision >= revision):
            self._moved.clear()
            await self._moved.wait()

    async def step(self, items: list[Snapshot | Batch]) -> bool:
        """Apply ``items`` and do all work that follows, in this task, in a fixed order. True if anything was done:
        then the store may hold new changes."""
        parts = self.parts
        for item in items:
            await self.scheduler.take(item)
            self._applied()
        worked = bool(items)
        while (key := parts.jobs.take()) is not None:
            self.evaluator.serve(key)
            worked = True
        self.progress()
        if not self.numbers.idle:
            await self.numbers.serve()
            self.progress()
            worked = True
            if not (parts.jobs.idle and self.numbers.idle):
                return True
        for name in parts.objects.take_all():
            await self.reconciler.serve(name)
            worked = True
        return worked

    def status(self) -> dict[str, Any]:
        """What ``/status`` shows."""
        return report(self.parts, self.orphan_collector, self.evaluator, self.reconciler, converged=self.converged)
