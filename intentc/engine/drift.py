"""Detects changes that others make to our objects (drift), and repeated ones (contention), which back off.

An object has drifted if it was as claimed and somebody else has written it since; it is repaired and journalled as
drift. An object that others made, and that is deleted since nobody claims it, has drifted if they make it again within
ten minutes. A difference that our own writes cause (a target is replaced, a deferred removal is due) is not drift: the
object's revision has not changed since it was as claimed. If others revert a part of an object five times in ten
minutes, that part (one field, one reference, or the object itself) is in contention: it is retried after 1 minute, and
if a revert follows a complete pause, the next pause is twice as long, up to 1 hour (``backoff``). The other parts are
written as usual.

``Drift`` keeps the records and decides what is contended. ``Repairs`` applies that to plans: ``object_planner`` passes
each permitted plan through it, and ``writes`` reports what was written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from ..model import Delete, HeldInput, Name, Problem
from ..planning import Plan, Planner
from ..planning.claims import EXISTENCE, Item
from ..planning.diff import Stored, item_text, items_of, without_items
from ..reconcile.backoff import CONTENTION_SECONDS, PartRepairs
from .log_fields import LogFields
from .objects import Objects
from .state_tables import StateTables

_LOG = logging.getLogger(__name__)

_SHOWN = 5
"""The number of contended parts of one object that are named; the others are counted."""


class Contention(NamedTuple):
    """``items``: the contended parts of the object. ``rest``: seconds until the first of them is tried again."""

    items: frozenset[Item]
    rest: float

    @property
    def fields(self) -> tuple[str, ...]:
        """The contended parts as text, the first few by name."""
        named = sorted(map(item_text, self.items))
        more = (f"{len(named) - _SHOWN} more",) if len(named) > _SHOWN else ()
        return (*named[:_SHOWN], *more)


class Drift:
    """Records which objects are as claimed, and which parts are contended. ``clock``: seconds, monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._standing: dict[Name, int | None] = {}
        self._records: dict[Name, dict[Item, PartRepairs]] = {}
        self.repairs = 0
        self.contentions = 0

    def meant(self, names: Iterable[Name]) -> None:
        """The desired state of these objects may have changed: a difference is no drift."""
        for name in names:
            self._standing.pop(name, None)
            for record in self._records.get(name, {}).values() if self._records else ():
                # The desired state changed: it is written at once, and a revert of it begins the pause anew.
                record.cut_short(self._clock())

    def __contains__(self, name: Name) -> bool:
        """Whether anything is known of this object; if not, its differences are neither drift nor contention."""
        return name in self._standing or name in self._records

    def stands(self, name: Name, revision: int | None) -> None:
        """The object is as claimed, except for contended parts. ``revision``: its present mod revision, None if that is
        not known."""
        self._standing[name] = revision

    def deleted(self, name: Name) -> None:
        """An object that others made was deleted, since nobody claims it. If they make it again, that is drift."""
        record = self._records.setdefault(name, {}).setdefault(EXISTENCE, PartRepairs())
        record.times = record.times or (self._clock(),)
        self._standing[name] = 0

    def absent(self, name: Name) -> None:
        """Nobody claims the object, and it is absent, as it should be."""
        if name in self._records:
            self._standing[name] = 0

    def forget(self, name: Name) -> None:
        """Forget the object, contention included: nothing of it is claimed any more, or it is to be tried again."""
        self._standing.pop(name, None)
        self._records.pop(name, None)

    def differs(self, name: Name, revision: int | None, items: Collection[Item]) -> bool:
        """Note that these parts need writes while the object is at ``revision``. True if that is drift, which counts
        towards contention."""
        now = self._clock()
        records = self._records.get(name, {})
        tried = [item for item in items if item not in records or now >= records[item].until]
        if not tried:
            if name in self._standing:
                self._standing[name] = revision
            return False
        stood = name in self._standing
        seen = self._standing.pop(name, None)
        if not stood or (seen is not None and seen == revision):
            return False
        self.repairs += 1
        records = self._records.setdefault(name, records)
        contended = [records.setdefault(item, PartRepairs()).repaired(now) for item in tried]
        self.contentions += any(contended)
        return True

    def contention(self, name: Name) -> Contention | None:
        """The contended parts of this object, None if there are none."""
        now = self._clock()
        contended = {item: record.until - now for item, record in self._records.get(name, {}).items()}
        contended = {item: rest for item, rest in contended.items() if rest > 0}
        return Contention(frozenset(contended), min(contended.values())) if contended else None

    def tidy(self) -> None:
        """Forget what is older than the window of contention."""
        now = self._clock()
        for name, records in list(self._records.items()):
            for item, record in list(records.items()):
                latest = max(record.until + record.rest, record.times[-1] + CONTENTION_SECONDS if record.times else 0.0)
                if latest < now:
                    del records[item]
            if not records:
                del self._records[name]
                if self._standing.get(name) == 0:
                    del self._standing[name]


class Repairs:
    """Plans that repair other writers' changes, and the objects that are as they should be."""

    def __init__(
        self, planner: Planner, states: StateTables, drift: Drift, objects: Objects, log_fields: LogFields
    ) -> None:
        self._book = planner.book
        self._assumed = planner.assumed
        self._states = states
        self._drift = drift
        self._objects = objects
        self._log_fields = log_fields
        self._drifted: set[Name] = set()
        """The objects whose next write repairs another writer's change."""

    def permitted(self, plan: Plan) -> Plan:
        """The plan without the parts of the object that are contended."""
        name, drift = plan.name, self._drift
        if name not in self._book and not plan.is_in_place:
            drift.forget(name)
        if name not in drift:
            return plan
        stored = self._stored(name)
        changed = frozenset[Item]().union(*(items_of(operation, stored) for operation in plan.operations))
        if drift.differs(name, plan.revision, changed):
            self._drifted.add(name)
            _LOG.info("%s was changed by another writer; it is repaired", name, extra=self._log_fields.about(name))
        contention = drift.contention(name)
        if contention is None:
            self._states.contended.release(name)
            return plan
        return self._without_contended(plan, contention, stored)

    def _without_contended(self, plan: Plan, contention: Contention, stored: Stored) -> Plan:
        """The plan without the parts of the object that other writers revert. Dropping references to an object that is
        to be deleted or replaced is exempt: it can't be reverted, and other plans wait for it."""
        name, waiting = plan.name, self._objects.waiters_of(plan.name)
        left_alone = {item for item in contention.items if isinstance(item, str) or item[1] not in waiting}
        left = [without_items(operation, left_alone.__contains__, stored) for operation in plan.operations]
        kept = tuple(operation for operation in left if operation is not None)
        if kept == plan.operations:
            return plan
        message = (
            f"{', '.join(contention.fields)}: another writer reverts it repeatedly, and writing it once more would "
            "change nothing; find the other writer. `intentc quarantine retry` writes it at once"
        )
        if self._states.contended.hold(name, Problem(name.kind, ":".join(name.fq_name), "Contended", message)):
            _LOG.warning("%s is left alone: %s", name, message, extra=self._log_fields.about(name))
        if not kept:
            self._objects.retry(name, after=contention.rest)
            if not plan.waits_for:
                self._drift.stands(name, plan.revision)
        return plan._replace(operations=kept)

    def _stored(self, name: Name) -> Stored:
        """Reads the present references of the object."""
        assumed = self._assumed
        try:
            actual = assumed.actual(name)
        except HeldInput:
            actual = None
        return lambda relation: assumed.entries(actual, relation) if actual is not None else {}

    def are_due_to_drift(self, name: Name) -> bool:
        """Whether the next writes of the object repair another writer's change. Returns True once."""
        is_repair = name in self._drifted
        self._drifted.discard(name)
        return is_repair

    def note_right(self, plan: Plan) -> None:
        """The object needs nothing now, or only what ``plan`` waits for."""
        name = plan.name
        self._states.contended.release(name)
        if not plan.waits_for:
            if name in self._book:
                self._drift.stands(name, plan.revision)
            elif plan.revision == 0:
                self._drift.absent(name)
            else:
                self._drift.forget(name)

    def note_written(self, plan: Plan) -> None:
        """The permitted writes of a plan were made."""
        name = plan.name
        if not plan.waits_for and name in self._book and not self._objects.asked_again(name):
            # Changes that arrived during the write come first: the desired state may have changed.
            self._drift.stands(name, self._assumed.revision(name))
        if name not in self._book and plan.is_in_place and any(isinstance(made, Delete) for made in plan.operations):
            # Its parent is there, and it has no mark: ours are not in place once nobody claims them.
            self._drift.deleted(name)
        if name in self._states.contended:
            # What was left out of the plan is tried again after its back-off.
            self._objects.plan((name,))
