"""The engine: the nine steps of an event's path (docs/architecture.md), wired on one page.

Read it top to bottom: a batch comes from the **watch** (1), **logic** applies it and says whom it concerns (2), the
**queue** keeps one job per intent (3), **workers** take jobs (4) and **evaluate** (5), what an evaluation yields
becomes **claims** on objects (6), each object is **planned** from all of them (7) and **written** (8), and every step
leaves a line in the **journal** (9). Each step is a class in ``pipeline/``; the stages that they call know only the
model. Who builds the parts (a real etcd and HTTP, or memory) is decided in ``assembly.py``.
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
from .intake import Intake, LastGoodValues
from .operator_actions import OperatorActions
from .orphan_collector import OrphanCollector
from .parts import Parts
from .permission import ENDING, OBSERVING
from .reconciler import Reconciler
from .report import is_healthy, report
from .restore_guard import RestoreGuard

_LOG = logging.getLogger(__name__)
_BURST = 1000
"""Evaluations in a row after which writing gets its turn although more jobs wait."""
_READ_BACK_PERIOD = 1.0
"""Seconds between looks at assumed writes whose echo has not come."""
_LEDGER_LOOK = 5
"""Of how many of those one also reads the ledger anew, where numbers are wished for and may not be asked for."""
_IN_FLIGHT = 400
"""Objects whose writes may be under way at once: as many as fill the requests that may be (``writing/endpoint.py``)."""
_DRAIN = 8.0
"""Seconds that writes under way get to end; the lease is given back after that, and all within ten."""


class Engine:
    """One compiler at work. ``run`` serves until it is cancelled; ``step`` is one pass in the caller's own task."""

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
        self.intake = Intake(
            parts, on_gone=self._gone, on_stored=self._stored, before=self._before, last_good=last_good
        )
        self.numbers = Allocations(parts, self.intake, self.orphan_collector.carriers, on_loaded=self._applied)
        self.evaluator = Evaluator(parts, self.intake, on_outcome=self.numbers.outcome, on_done=self.progress)
        self.reconciler = Reconciler(
            parts,
            self._idle,
            in_flight=in_flight,
            on_create=self.orphan_collector.note,
            on_success=self.orphan_collector.ended,
            on_change=self.progress,
        )
        self.operator_actions = OperatorActions(parts, self.intake)
        self.restore_guard = RestoreGuard(parts, self.numbers, self.reconciler.sender)
        parts.permission.on_given = self._permitted

    async def run(self, events: AsyncIterator[Snapshot | Batch]) -> None:
        """Serve until cancelled; then no write is begun any more, and those under way may end. The ledger must have
        been loaded (``numbers.load``)."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self.intake.run, events, self._applied)  # 1, 2 → 3
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
        """An intent ended: its numbers may be freed, and what it leaves behind is no surprise if its end was seen."""
        self.numbers.leave(origin.uuid)
        self.evaluator.forget(origin)
        if live:
            self.parts.planner.guard.owner_gone(origin.uuid)

    def _stored(self, names: Iterable[Name]) -> None:
        """Objects changed in the store: whoever waits for one of them is planned again."""
        self.orphan_collector.seen(names)
        self.reconciler.wake(names)

    def _before(self, item: Snapshot | Batch | Correction) -> None:
        """A listing asks for a pass over everything; one of an older state than ours makes what we remember void."""
        if isinstance(item, Snapshot):
            self.orphan_collector.due = True
            if self.intake.listed:
                self.restore_guard.look(item)

    def _permitted(self) -> None:
        """Writes are allowed now: carry out what could only be planned until now."""
        for name in sorted(self.parts.states.planned):
            self.parts.objects.add(name, resync=True)
        self.numbers.resume()
        self.progress()

    def reevaluate(self, keys: Iterable[Key]) -> None:
        """Evaluate these intents whatever their memos say."""
        for key in keys:
            self.intake.causes.pop(key, None)
            if self.parts.logic.exists(key):
                self.parts.jobs.add(key)
        self._applied()

    def look_over(self, key: Key) -> None:
        """Evaluate this intent once more, whatever its memo says, behind all that is live. To be followed by
        ``reevaluate``."""
        job = self.intake.causes.get(key)
        if job is not None:
            self.intake.causes[key] = job._replace(by_readers=True)
        if self.parts.logic.exists(key):
            self.parts.jobs.add(key, resync=True)

    def correct(self, missed: Correction) -> None:
        """Apply what only the background relist found."""
        self.intake.apply(missed)
        self._applied()

    def _applied(self) -> None:
        """A batch was applied: what it concerns is evaluated before anything is planned."""
        if self._idle.is_set() and not self.parts.jobs.idle:
            self._idle.clear()
            self._burst = self.evaluator.runs + _BURST
        self.progress()

    def progress(self) -> None:
        """Something ended: see whether planning may go on, and wake those who wait for quiet."""
        # Before a pass, expensive intents too: what one yielded before its rest may lack what others have told it
        # since.
        cooling_down = self.orphan_collector.due and self.evaluator.cooling_down
        if self.intake.listed and self.parts.jobs.idle and not cooling_down:
            if self.orphan_collector.due:
                self._make_pass()
            self._idle.set()
        elif not self.orphan_collector.due and self.evaluator.runs >= self._burst:
            self._idle.set()
        if self._idle.is_set():
            self.numbers.stir()
            if not self.orphan_collector.due:
                self.restore_guard.idle()
        self._moved.set()

    def _make_pass(self) -> None:
        for origin in self.numbers.origins():
            if self.orphan_collector.origin_absent(origin):
                self.numbers.leave(origin)
        self.orphan_collector.make_pass()

    async def _read_back(self) -> None:
        """An assumed write whose echo does not come is settled by reading."""
        looks = 0
        while True:
            await asyncio.sleep(_READ_BACK_PERIOD)
            await self.reconciler.settle_assumed()
            self.parts.drift.tidy()
            looks += 1
            if looks % _LEDGER_LOOK == 0 and self.parts.permission.reasons and self.numbers.outstanding:
                # Whoever leads may have been given them meanwhile: no event tells of the ledger.
                self.numbers.distrust()
            self.parts.planner.guard.settle(self._leaves_something)

    def _leaves_something(self, origin: str) -> bool:
        """Whether an intent that ended still has objects in the store: their deletion may be put off for long."""
        return bool(self.orphan_collector.carriers(origin)) and self.orphan_collector.origin_absent(origin)

    def last_good_values(self) -> dict[Key, Resource]:
        """The values by which held intents go on yielding facts, and which a restart would lose."""
        return self.parts.logic.last_good_values(self.parts.states.held)

    def held_facts(self) -> dict[Key, HeldFacts]:
        """The facts of intents whose last run did not come to its end, which a restart would lose."""
        return self.parts.logic.held_facts()

    @property
    def quiet(self) -> bool:
        """Nothing is queued, under way, or written and not yet seen. Objects that back off are not waited for."""
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
        """Quiet, and nothing is put off but what is held or refused and listed as such. Of one that stands by: that
        nothing is left to do for the leader either, as far as can be seen from here."""
        delayed, states = self.parts.objects.delayed(), self.parts.states
        withheld = self.parts.permission.reasons
        if withheld and OBSERVING not in withheld and (states.planned or self.numbers.outstanding):
            return False
        told = all(name in states.refused or name in states.contended for name in delayed)
        return self.quiet and self.numbers.settled and told

    @property
    def healthy(self) -> bool:
        """Nothing is held, refused, contended, deferred or withheld."""
        return is_healthy(self.parts)

    async def settled(self, revision: int = 0) -> None:
        """Return once everything up to ``revision`` is applied and the engine has converged."""
        while not (self.converged and self.parts.logic.revision >= revision):
            self._moved.clear()
            await self._moved.wait()

    async def step(self, items: list[Snapshot | Batch]) -> bool:
        """Apply ``items`` and do all work that follows, in this task, in a fixed order. True if anything was done:
        then more may have come from the store meanwhile."""
        parts = self.parts
        for item in items:
            await self.intake.take(item)
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
