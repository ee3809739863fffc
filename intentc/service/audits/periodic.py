"""Audits a running service, periodically while it may write, and on demand; counts, logs and repairs mismatches.

The compile from scratch runs in a process of its own, so it costs the service only the examination of the differences.
For a mismatch all intents behind the object are evaluated anew; an object without its plan is planned, one whose event
was missed is read back first, and the missing reaction that made one stale is recorded with those that recorded reads
found.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import anyio
import msgspec

from intentc import crashpoints
from intentc.engine.engine import Engine
from intentc.engine.permission import RESTORED
from intentc.model import Key
from intentc.offline.audit import Difference, Report
from intentc.reconcile import Loop, RequeueAfter
from intentc.reconcile.backoff import Backoff
from intentc.watch.source import Source

from .audit_process import AuditFailed
from .look import Before, Look, Mismatch, MismatchKind, Pair, affected, repaired

_LOG = logging.getLogger(__name__)
_LOOK = 0.05
"""Seconds between checks whether the engine has passed the audit's revision."""
_AGAIN = Backoff(5.0, 10.0)
"""Between attempts at an audit after etcd was restored."""
_PERIODIC, _RESTORED = "periodic", "etcd was restored from an older state"

Spawn = Callable[[], Awaitable[Report]]
"""Runs an audit. Raises ``AuditFailed``."""


class Verdict(msgspec.Struct, frozen=True):
    """The result of one audit: how many objects differed at ``revision``, and the mismatches among them. ``judged`` is
    False if the engine did not become idle within the patience, or the journal dropped lines meanwhile: then the
    differences were not examined."""

    revision: int
    differences: int
    mismatches: tuple[Mismatch, ...] = ()
    judged: bool = True


class PeriodicAudit:
    """Audits the running ``engine``, which then waits for an audit after each restore. ``period``: seconds between
    audits, 0 for those on demand only. ``patience``: seconds that the engine gets to become idle, before and after
    repairs. ``source``: asked for a listing if the engine did not reach the audit's world in time, so that an event may
    be missing."""

    def __init__(
        self,
        engine: Engine,
        spawn: Spawn,
        *,
        period: float = 3600.0,
        patience: float = 60.0,
        chance: Callable[[], float] = random.random,
        source: Source | None = None,
    ) -> None:
        engine.restore_guard.require_confirmation()
        self._engine = engine
        self._spawn = spawn
        self._period = period
        self._patience = patience
        self._chance = chance
        self._source = source
        self._turn = asyncio.Lock()
        # Two workers: one waits for a restore.
        self._loop: Loop[str] = Loop(self._audit, workers=2, backoff=_AGAIN, on_failure=_note_failure)
        self._figures: dict[str, Any] = {
            "period": float(period),
            "runs": 0,
            "failures": 0,
            "mismatches": 0,
            "last_revision": 0,
            "last_seconds": 0.0,
            "last_success": 0.0,
            "last_result": "never",
            "last_error": None,
        }

    def figures(self) -> dict[str, Any]:
        """Return the figures for ``/status``.

        They are ``period`` (seconds, 0: only on demand); ``runs`` with a report,
        ``failures`` without one, ``mismatches`` in all; ``last_revision`` and ``last_seconds`` of the last run with a
        report; ``last_result`` (``equal``, ``mismatches``, ``not judged``, ``failed``; ``never``); ``last_error``: why
        the last audit failed, None if it didn't; ``last_success``: time of the last judged audit (seconds since 1970,
        0: never)."""
        return dict(self._figures)

    async def run(self) -> None:
        """Audit every ``period`` and after each restore of the store. The first audit is at a random moment of the
        first period, so that compilers that start together don't audit together. Writes are permitted again once an
        audit has judged the differences."""
        if self._period:
            self._loop.add(_PERIODIC, after=self._period * self._chance())
        self._loop.add(_RESTORED)
        await self._loop.run()

    async def _audit(self, reason: str) -> RequeueAfter:
        if reason == _RESTORED:
            await self._after_restore()
            return RequeueAfter(0.0)
        if self._engine.may_write:
            try:
                await self.once(reason)
            except AuditFailed as error:
                _LOG.warning("the audit failed: %s; the next one is in %.0f s", error, self._period)
        return RequeueAfter(self._period)

    async def _after_restore(self) -> None:
        guard = self._engine.restore_guard
        await guard.wait_until_evaluated()
        restores = guard.times
        verdict = await self.once(_RESTORED)
        if not verdict.judged:
            raise AuditFailed("the differences could not be judged")
        if restores == guard.times:
            self._engine.lift(RESTORED)

    async def once(self, reason: str) -> Verdict:
        """Audit now and repair mismatches. Concurrent calls run one after another. Raises ``AuditFailed``."""
        async with self._turn:
            _LOG.info("auditing: %s", reason)
            crashpoints.reach("audit.begun")
            began = time.monotonic()
            try:
                report = await self._spawn()
            except AuditFailed as error:
                self._figures["failures"] += 1
                self._figures |= {"last_result": "failed", "last_error": str(error)}
                raise
            verdict = await self._verdict(report)
            if not verdict.judged and self._source is not None:
                self._source.request_listing("audit")
            self._note(verdict, time.monotonic() - began)
            return verdict

    def _note(self, verdict: Verdict, seconds: float) -> None:
        result = "not judged" if not verdict.judged else "mismatches" if verdict.mismatches else "equal"
        figures = self._figures
        figures["runs"] += 1
        figures["mismatches"] += len(verdict.mismatches)
        figures |= {"last_revision": verdict.revision, "last_seconds": round(seconds, 3)}
        figures |= {"last_result": result, "last_error": None}
        if verdict.judged:
            figures["last_success"] = time.time()
        log = _LOG.info if verdict.judged else _LOG.warning
        differ = f"{verdict.differences} differences, {len(verdict.mismatches)} of them mismatches"
        log("audit of revision %d: %s (%s)", verdict.revision, result, differ)

    async def _verdict(self, report: Report) -> Verdict:
        if not report.differences:
            return Verdict(report.revision, 0)
        if not await self._has_passed(report):
            return Verdict(report.revision, len(report.differences), judged=False)
        look = Look(self._engine, report.revision)
        if look.forgotten:
            return Verdict(report.revision, len(report.differences), judged=False)
        found = [
            (difference, sort) for difference in report.differences if (sort := look.sort_of(difference)) is not None
        ]
        mismatches = await self._repair(found) if found else ()
        return Verdict(report.revision, len(report.differences), mismatches)

    async def _has_passed(self, report: Report) -> bool:
        """Wait until everything up to the audit's revision is applied and evaluated; False after the patience."""
        with anyio.move_on_after(self._patience):
            while not (self._heard(report) and self._evaluated()):  # noqa: ASYNC110 - no single event marks it
                await anyio.sleep(_LOOK)
            return True
        return False

    def _heard(self, report: Report) -> bool:
        """Return whether the engine knows the audited world or a later one. A revision that wrote none of our resources
        never arrives: if the engine is at an earlier revision, but no listed resource is newer and the number of
        resources is equal, nothing was written or deleted in between."""
        world = self._engine.world
        if world.revision >= report.revision:
            return True
        return world.revision >= report.last_change and len(world.cache) == report.resources

    def _evaluated(self) -> bool:
        engine = self._engine
        evaluated = engine.jobs.idle and not engine.evaluator.cooling_down
        return engine.first_pass_complete and evaluated and engine.allocations.loop.idle

    async def _repair(self, found: Sequence[tuple[Difference, MismatchKind]]) -> tuple[Mismatch, ...]:
        engine = self._engine
        intents = {difference: affected(engine.world, engine.planner, difference) for difference, _ in found}
        before: dict[Difference, Before] = {}
        for difference, sort in found:
            name = difference.place
            _LOG.error(
                "audit mismatch (%s): %s differs from a compile from scratch (%s); repairing it",
                sort.value,
                name,
                ", ".join(change.operation for change in difference.operations),
                extra={"origins": list(difference.origins), **engine.about(name)},
            )
            if sort is MismatchKind.STALE:
                before[difference] = Before(engine.world, engine.journal, intents[difference], difference.revision)
            else:
                if sort is MismatchKind.MISSED:
                    await engine.read_back(name)
                engine.objects.plan((name,))
        engine.reevaluate(sorted({key for keys in intents.values() for key in keys}))
        with anyio.move_on_after(self._patience):
            # Not until it has converged: an engine that may not write now is done once the plan is made.
            while not engine.quiet:  # noqa: ASYNC110 - it takes several queues to be empty at once
                await anyio.sleep(_LOOK)
        pairs = {difference: stood.missing_reactions() for difference, stood in before.items()}
        for pair in sorted({pair for each in pairs.values() for pair in each}):
            engine.evaluator.note_missing(pair)
        return tuple(
            self._mismatch(difference, sort, intents[difference], pairs.get(difference, ()))
            for difference, sort in found
        )

    def _mismatch(
        self, difference: Difference, sort: MismatchKind, intents: Iterable[Key], pairs: Iterable[Pair]
    ) -> Mismatch:
        is_repaired = repaired(self._engine, difference.place, difference.revision)
        if not is_repaired:
            _LOG.error(
                "%s still differs from a compile from scratch: restart this compiler",
                difference.place,
                extra=self._engine.about(difference.place),
            )
        return Mismatch(
            kind=difference.kind,
            name=difference.name,
            sort=sort,
            operations=difference.operations,
            origins=tuple(map(str, sorted(intents))),
            missing_reactions=tuple(f"{reader} <- {read}" for reader, read in sorted(pairs)),
            repaired=is_repaired,
        )


def _note_failure(reason: str, error: Exception) -> None:
    """Report an audit that failed after a restore. Raises any other exception."""
    if not isinstance(error, AuditFailed):
        raise error
    _LOG.error("etcd was restored, and the audit failed: %s; writes stay withheld until one succeeds", error)
