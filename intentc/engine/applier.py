"""Applies what the watch delivers, in order, and passes on what each batch affects (steps 2 and 3).

It decodes a listing in slices, and adds last good values for what can't be read; with the first listing it restores
what earlier processes retained of held intents. ``logic`` finds what a batch or a correction affects: intents get jobs,
or are ended by the evaluator if they were deleted; objects are queued. It neither evaluates nor plans.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Protocol

from .. import crashpoints
from ..journal import Journal
from ..logic import Affected, Held, Service, State, with_history
from ..model import Batch, Change, Correction, Create, HeldFacts, HeldInput, Key, Name, Problem, Resource, Snapshot
from ..model.reads import PARENT
from ..planning import Planner
from ..planning.diff import is_as_created
from .evaluator import Evaluator
from .jobs import Jobs
from .log_fields import LogFields
from .marked_objects import Marks
from .objects import Objects
from .phases import Happened, Phases
from .restore_guard import RestoreGuard
from .state_tables import StateTables

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


class ObjectChanges:
    """Finds what a change of stored objects means for other objects, and queues those that must be planned."""

    def __init__(self, logic: Service, planner: Planner, states: StateTables, objects: Objects, marks: Marks) -> None:
        self._logic = logic
        self._planner = planner
        self._book = planner.book
        self._assumed = planner.assumed
        self._states = states
        self._objects = objects
        self._marks = marks
        self._holding: dict[str, list[str]] = {}
        """Kind → the kinds whose references to it compilers write."""
        for kind in logic.schema:
            written = (kind.written(made=made) for made in (False, True))
            for target in {name for one in written for name in (*one.relations, *one.shared)}:
                self._holding.setdefault(target, []).append(kind.name)

    def children_of(self, key: Key) -> list[Name]:
        """The children, claimed or not, that we must delete with an object that is about to be deleted."""
        logic = self._logic
        kinds = (kind.name for kind in logic.schema if kind.system and kind.stored)
        children = (logic.cache.shown(child) for kind in kinds for child in logic.sources(key, kind, PARENT))
        return [child.name for child in children if child is not None]

    def holders_of(self, key: Key) -> list[Name]:
        """The objects that refer to one that is about to be deleted, in relations that compilers write. Their claims
        may then lead to another object of its name, and no event of their own says so."""
        logic = self._logic
        holders = (holder for kind in self._holding.get(key.kind, ()) for holder in logic.sources(key, kind, key.kind))
        found = (logic.cache.shown(holder) for holder in holders)
        return [holder.name for holder in found if holder is not None and self._book.on(holder.name)]

    def changed(self, names: Iterable[Name], *, plan: bool, resync: bool, echoes: Mapping[Name, Create]) -> None:
        """These objects changed in the store: plan the objects that wait for them and, with ``plan``, the changed ones
        that concern us, except for ``echoes`` of creates that show what was written."""
        self._marks.seen(names)
        self._objects.wake(names)
        if plan:
            concerned = (name for name in names if not (name in echoes and self._is_settled(name, echoes[name])))
            affected = {*filter(self._concerns_us, concerned), *self._kept_for(names)}
            self._objects.plan(sorted(affected), resync=resync)

    def _is_settled(self, name: Name, create: Create) -> bool:
        """Whether the object stands in the store as it was created, and nothing is left to do for it."""
        states = self._states
        if self._objects.busy(name) or any(
            name in of for of in (states.object_waits, states.planned, states.contended)
        ):
            return False
        try:
            actual = self._assumed.actual(name)
        except HeldInput:
            return False
        return actual is not None and actual.key == create.key and is_as_created(actual, create)

    def _kept_for(self, names: Iterable[Name]) -> Iterator[Name]:
        """The resources on which changed resources that are being deleted claim finalizers. Such a claim stays, but
        counts only while something exists that was made for its intent."""
        for name in names:
            kind = self._logic.schema.kinds.get(name.kind)
            if kind is None or not kind.written_as_manifests:
                continue
            try:
                actual = self._assumed.actual(name)
            except HeldInput:
                continue
            if actual is not None and actual.is_being_deleted:
                yield from (claim.holder for claim in self._book.finalizers_of(actual.key))

    def _concerns_us(self, name: Name) -> bool:
        """Whether a changed object must be planned: it is claimed, another object waits for it, or it may carry
        something of ours."""
        kind = self._logic.schema.kinds.get(name.kind)
        if kind is None:
            return False
        if self._book.on(name) or name in self._states.object_waits or name in self._states.planned:
            return True
        if kind.compiler_relations or kind.shared_relations or kind.compiler_properties:
            return True
        try:
            actual = self._assumed.actual(name)
        except HeldInput:
            return True
        return actual is not None and (
            actual.mark is not None or actual.has_status_claims or self._planner.ending.concerns(actual)
        )


class Applier:
    """``last_good``: None if nothing but the present values of held resources is known."""

    def __init__(
        self,
        logic: Service,
        journal: Journal,
        jobs: Jobs,
        evaluator: Evaluator,
        planner: Planner,
        objects: Objects,
        object_changes: ObjectChanges,
        phases: Phases,
        restore_guard: RestoreGuard,
        log_fields: LogFields,
        last_good: LastGoodValues | None,
    ) -> None:
        self._logic = logic
        self._journal = journal
        self._jobs = jobs
        self._evaluator = evaluator
        self._planner = planner
        self._objects = objects
        self._object_changes = object_changes
        self._phases = phases
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
        """The changes whose values can't be read, and for which this process knows no readable value."""
        keys = {key for key, state in decoded.items() if isinstance(state, Held)}
        keys = {key for key in keys if self._logic.cache.shown(key) is None}
        return [change for change in snapshot.changes if Key(change.kind, change.uuid) in keys] if keys else []

    def apply(self, item: Snapshot | Batch | Correction, decoded: Mapping[Key, State] | None = None) -> None:
        """Apply one item, and pass on what it affects. ``decoded``: its values that are already decoded."""
        whole = isinstance(item, Snapshot)
        left_behind: list[Name] = []
        dangling: list[Name] = []
        echoes: dict[Name, Create] = {}
        if isinstance(item, Snapshot):
            self._phases.happened(Happened.LISTED)
            if self._logic.listed:
                self._restore_guard.check(item)
            # It shows our writes up to there.
            self._planner.assumed.listed(item.revision)
        else:
            for change in item.changes:
                key = Key(change.kind, change.uuid)
                if change.value is None:
                    self._journal.remember_name(key, self._logic.name_of(key))
                    left_behind += self._object_changes.children_of(key)
                    dangling += self._object_changes.holders_of(key)
                echo = self._planner.assumed.applied(key, item.revision)
                if echo is not None:
                    crashpoints.reach("echo.seen")
                if isinstance(echo, Create):
                    echoes[echo.name] = echo
        was_listed = self._logic.listed
        affected = self._logic.apply(item, decoded or {})
        crashpoints.reach("walk.done")
        self._pass_on(affected, plan=was_listed, resync=whole, echoes=echoes)
        self._planner.left_behind(left_behind)
        self._objects.plan((*left_behind, *dangling))
        if not self._jobs.idle:
            # The affected intents are evaluated before anything is planned.
            self._phases.happened(Happened.INPUTS)
        crashpoints.reach("batch.applied")
        if whole and was_listed:
            crashpoints.reach("relist.diffed")

    def _pass_on(
        self, affected: Affected, *, plan: bool, resync: bool, echoes: Mapping[Name, Create] = MappingProxyType({})
    ) -> None:
        """End the deleted intents, and enqueue the intents and objects that a change affects."""
        for problem in affected.problems:
            self._log_held(problem)
        self._evaluator.end(affected.deleted, live=not resync)
        self._jobs.schedule(affected.jobs, resync=resync)
        if affected.objects:
            self._object_changes.changed(affected.objects, plan=plan, resync=resync, echoes=echoes)

    def _log_held(self, problem: Problem) -> None:
        # The name in a value that can't be read may be unknown.
        unnamed = Key(problem.kind, problem.name)
        named = Name(problem.kind, tuple(problem.name.split(":")))
        extra = self._log_fields.about(unnamed if self._logic.exists(unnamed) else named, ())
        _LOG.warning("%s %s is held: %s", problem.kind, problem.name, problem.message, extra=extra)
