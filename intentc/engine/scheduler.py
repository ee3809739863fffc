"""Applies what the watch delivers, and enqueues the intents and objects that each batch affects.

It applies batches in order and asks ``logic`` which intents they affect. It neither evaluates nor plans.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Protocol

from .. import crashpoints
from ..evaluation import Status
from ..journal import Entry
from ..logic import Concerned, Job
from ..logic.cache import Held, State, with_history
from ..model import Batch, Change, Correction, HeldFacts, HeldInput, Key, Name, Resource, Snapshot
from ..model.reads import PARENT
from .log_fields import about
from .parts import Parts

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


class Scheduler:
    """``causes`` holds, per intent with a job, why it has one. ``before`` is called with each item ahead of all else,
    ``on_gone`` with intents that ended (and whether that was seen live), ``on_stored`` with objects that changed.
    ``last_good``: None if nothing but the present values of held resources is known."""

    def __init__(
        self,
        parts: Parts,
        on_gone: Callable[[Key, bool], None],
        on_stored: Callable[[Iterable[Name]], None],
        before: Callable[[Snapshot | Batch | Correction], None],
        last_good: LastGoodValues | None = None,
    ) -> None:
        self._parts = parts
        self._last_good = last_good
        self._on_gone = on_gone
        self._on_stored = on_stored
        self._before = before
        self.causes: dict[Key, Job] = {}
        self.listed = False
        """Whether the world was listed once."""
        self.first_listed = 0
        """The revision of the first listing. A resource that was not written since triggered nothing by a change."""

    def at_start(self, entry: Entry) -> bool:
        """Whether only the start of this process triggered an evaluation: its source was not written since the first
        listing."""
        return 0 < entry.source_revision <= self.first_listed

    async def run(self, events: AsyncIterator[Snapshot | Batch], on_applied: Callable[[], None]) -> None:
        """Apply every event; ends only with an error or by cancellation."""
        async for item in events:
            await self.take(item)
            on_applied()

    async def take(self, item: Snapshot | Batch) -> None:
        """Apply one item. A listing is decoded in slices, and last good values are added for what can't be read."""
        if not isinstance(item, Snapshot):
            self.apply(item)
            return
        decoded: dict[Key, State] = {}
        for states in self._parts.logic.decode(item):
            decoded.update(states)
            await asyncio.sleep(0)
        retained: Mapping[Key, Resource] = {}
        facts: Iterable[HeldFacts] = ()
        if self._last_good is not None:
            if not self.listed:
                facts = await self._last_good.held_facts()
            unreadable = self._unreadable(item, decoded)
            if unreadable or not self.listed:
                retained = await self._last_good.load()
            for key, resource in (await self._last_good.before(unreadable, retained)).items():
                state = decoded[key]
                assert isinstance(state, Held)
                decoded[key] = with_history(state, resource)
        self.apply(item, decoded)
        self._parts.logic.restore_superseded(retained)
        self.concern(self._parts.logic.restore_facts(facts), resync=True)

    def _unreadable(self, snapshot: Snapshot, decoded: Mapping[Key, State]) -> list[Change]:
        """The changes whose values can't be read, and of which this process knows no readable value."""
        keys = {key for key, state in decoded.items() if isinstance(state, Held)}
        keys = {key for key in keys if self._parts.logic.cache.shown(key) is None}
        return [change for change in snapshot.changes if Key(change.kind, change.uuid) in keys] if keys else []

    def apply(self, item: Snapshot | Batch | Correction, decoded: Mapping[Key, State] | None = None) -> None:
        """Apply one item, and enqueue what it affects. ``decoded``: those of its values that were decoded before."""
        self._before(item)
        parts = self._parts
        whole = isinstance(item, Snapshot)
        left_behind: list[Name] = []
        if whole:
            parts.assumed.listed(item.revision)
        else:
            for change in item.changes:
                key = Key(change.kind, change.uuid)
                if change.value is None:
                    parts.journal.gone(key, parts.logic.name_of(key))
                    left_behind += self._system_children(key)
                if parts.assumed.applied(key, item.revision):
                    crashpoints.reach("echo.seen")
        concerned = parts.logic.apply(item, decoded or {})
        crashpoints.reach("walk.done")
        self.concern(concerned, resync=whole)
        parts.planner.left_behind(left_behind)
        for name in left_behind:
            parts.objects.add(name)
        crashpoints.reach("batch.applied")
        if whole and self.listed:
            crashpoints.reach("relist.diffed")
        if whole and not self.listed:
            self.first_listed = item.revision
        self.listed = self.listed or whole

    def concern(self, concerned: Concerned, *, resync: bool = False) -> None:
        """Enqueue the intents and objects that a change affects, and end the deleted intents."""
        parts = self._parts
        for problem in concerned.problems:
            # The name in a value that can't be read may be unknown.
            unnamed = Key(problem.kind, problem.name)
            named = Name(problem.kind, tuple(problem.name.split(":")))
            extra = about(parts, unnamed if parts.logic.exists(unnamed) else named, ())
            _LOG.warning("%s %s is held: %s", problem.kind, problem.name, problem.message, extra=extra)
        for key in sorted(concerned.gone):
            dropped = sorted(parts.book.drop(key))
            parts.drift.meant(dropped)
            for name in dropped:
                parts.objects.add(name)
            parts.journal.add(_ended(key, dropped, parts.logic.revision))
            parts.states.forget(key)
            parts.jobs.forget(key)
            self._on_gone(key, not resync)
        for key, job in concerned.jobs.items():
            earlier = self.causes.get(key)
            if earlier is None:
                self.causes[key] = job
            elif job.by_readers and not earlier.by_readers:
                # If the map led here from the same change, its path is the intended one.
                meant = earlier.path[:1] == job.path[:1]
                self.causes[key] = earlier._replace(by_readers=True, missing=job.missing) if meant else job
            parts.jobs.add(key, resync=resync)
        if not concerned.objects:
            return
        self._on_stored(concerned.objects)
        if self.listed:
            for name in sorted(filter(self._concerns_us, concerned.objects)):
                parts.objects.add(name, resync=resync)

    def _system_children(self, key: Key) -> list[Name]:
        """The objects below a deleted one that we must delete as well, claimed or not."""
        logic = self._parts.logic
        kinds = (kind.name for kind in self._parts.schema if kind.system and kind.stored)
        children = (logic.cache.shown(child) for kind in kinds for child in logic.sources(key, kind, PARENT))
        return [child.name for child in children if child is not None]

    def _concerns_us(self, name: Name) -> bool:
        """Whether a changed object must be planned: something claims it or waits for it, or it may carry something of
        ours."""
        parts = self._parts
        kind = parts.schema.kinds.get(name.kind)
        if kind is None:
            return False
        if parts.book.on(name) or name in parts.states.object_waits or name in parts.states.planned:
            return True
        if kind.compiler_relations or kind.shared_relations or kind.compiler_properties:
            return True
        try:
            actual = parts.assumed.actual(name)
        except HeldInput:
            return True
        return actual is not None and actual.mark is not None


def _ended(key: Key, dropped: Iterable[Name], revision: int) -> Entry:
    """The journal's line of an intent that is no longer evaluated, since it was deleted."""
    return Entry(revision, key, (key,), Status.GONE.value, 0, tuple(dropped))
