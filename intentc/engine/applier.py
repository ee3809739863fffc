"""Applies what the watch delivers, in order, and passes on what each batch affects (steps 2 and 3).

A listing is decoded in slices, and last good values are added for what can't be read; with the first one, what earlier
processes retained of held intents is restored. ``logic`` finds what a batch or a correction affects: the intents go to
the scheduler, and to the evaluator if they were deleted; objects go to ``object_changes``. It neither evaluates nor
plans. ``restore_guard``, ``orphan_collector`` and ``object_changes`` are notified of listings, the journal of names.

It changes the world through ``logic``, and the other steps by their methods.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Protocol

from .. import crashpoints
from ..journal import Journal
from ..logic import Affected, Held, Service, State, with_history
from ..model import Batch, Change, Correction, HeldFacts, Key, Name, Problem, Resource, Snapshot
from .evaluator import Evaluator
from .log_fields import LogFields
from .object_changes import ObjectChanges
from .orphan_collector import OrphanCollector
from .restore_guard import RestoreGuard
from .scheduler import Scheduler

_LOG = logging.getLogger(__name__)


class LastGoodValues(Protocol):
    """What earlier processes, or the store's history, know of resources that are held now (``retained``)."""

    async def load(self) -> Mapping[Key, Resource]:
        """The values that held intents were last evaluated with by earlier processes."""
        ...

    async def held_facts(self) -> Iterable[HeldFacts]:
        """The facts that earlier processes retained for intents whose last run did not complete."""
        ...

    async def before(self, unreadable: Iterable[Change], retained: Mapping[Key, Resource]) -> Mapping[Key, Resource]:
        """The last readable values of resources that can't be read now. ``retained``: the result of ``load``."""
        ...


class Applier:
    """``last_good``: None if nothing but the present values of held resources is known."""

    def __init__(
        self,
        *,
        logic: Service,
        journal: Journal,
        scheduler: Scheduler,
        evaluator: Evaluator,
        object_changes: ObjectChanges,
        orphan_collector: OrphanCollector,
        restore_guard: RestoreGuard,
        log_fields: LogFields,
        last_good: LastGoodValues | None,
    ) -> None:
        self._logic = logic
        self._journal = journal
        self._scheduler = scheduler
        self._evaluator = evaluator
        self._object_changes = object_changes
        self._orphan_collector = orphan_collector
        self._restore_guard = restore_guard
        self._log_fields = log_fields
        self._last_good = last_good

    async def take(self, item: Snapshot | Batch) -> None:
        """Apply one item of the watch."""
        if not isinstance(item, Snapshot):
            self.apply(item)
            return
        decoded: dict[Key, State] = {}
        for states in self._logic.decode(item):
            decoded.update(states)
            await asyncio.sleep(0)
        retained: Mapping[Key, Resource] = {}
        facts: Iterable[HeldFacts] = ()
        if self._last_good is not None:
            if not self._logic.listed:
                facts = await self._last_good.held_facts()
            unreadable = self._unreadable(item, decoded)
            if unreadable or not self._logic.listed:
                retained = await self._last_good.load()
            for key, resource in (await self._last_good.before(unreadable, retained)).items():
                state = decoded[key]
                assert isinstance(state, Held)
                decoded[key] = with_history(state, resource)
        self.apply(item, decoded)
        self._logic.restore_superseded(retained)
        self._pass_on(self._logic.restore_facts(facts), plan=True, resync=True)

    def _unreadable(self, snapshot: Snapshot, decoded: Mapping[Key, State]) -> list[Change]:
        """The changes whose values can't be read, and of which this process knows no readable value."""
        keys = {key for key, state in decoded.items() if isinstance(state, Held)}
        keys = {key for key in keys if self._logic.cache.shown(key) is None}
        return [change for change in snapshot.changes if Key(change.kind, change.uuid) in keys] if keys else []

    def apply(self, item: Snapshot | Batch | Correction, decoded: Mapping[Key, State] | None = None) -> None:
        """Apply one item, and pass on what it affects. ``decoded``: those of its values that were decoded before."""
        whole = isinstance(item, Snapshot)
        left_behind: list[Name] = []
        dangling: list[Name] = []
        if isinstance(item, Snapshot):
            self._orphan_collector.request()
            if self._logic.listed:
                self._restore_guard.check(item)
            self._object_changes.listed(item.revision)
        else:
            for change in item.changes:
                key = Key(change.kind, change.uuid)
                if change.value is None:
                    self._journal.remember_name(key, self._logic.name_of(key))
                    left_behind += self._object_changes.children_of(key)
                    dangling += self._object_changes.holders_of(key)
                self._object_changes.echoed(key, item.revision)
        was_listed = self._logic.listed
        affected = self._logic.apply(item, decoded or {})
        crashpoints.reach("walk.done")
        self._pass_on(affected, plan=was_listed, resync=whole)
        self._object_changes.left_behind(left_behind)
        self._object_changes.dangling(dangling)
        crashpoints.reach("batch.applied")
        if whole and was_listed:
            crashpoints.reach("relist.diffed")

    def _pass_on(self, affected: Affected, *, plan: bool, resync: bool) -> None:
        """End the deleted intents, and enqueue the intents and objects that a change affects."""
        for problem in affected.problems:
            self._log_held(problem)
        self._evaluator.end(affected.deleted, live=not resync)
        self._scheduler.schedule(affected.jobs, resync=resync)
        if affected.objects:
            self._object_changes.changed(affected.objects, plan=plan, resync=resync)

    def _log_held(self, problem: Problem) -> None:
        # The name in a value that can't be read may be unknown.
        unnamed = Key(problem.kind, problem.name)
        named = Name(problem.kind, tuple(problem.name.split(":")))
        extra = self._log_fields.about(unnamed if self._logic.exists(unnamed) else named, ())
        _LOG.warning("%s %s is held: %s", problem.kind, problem.name, problem.message, extra=extra)
