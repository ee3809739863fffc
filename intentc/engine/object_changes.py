"""Notes what a batch or a listing changes of stored objects, and queues those that must be planned because of it.

It is the part of applying a batch that concerns outputs; ``applier`` calls it, and passes the intents that a batch
affects to the scheduler.

It ends the assumptions about our writes that the batch shows, notes the marks of objects, reports to the planner which
objects lost their parent, and fills and wakes the queue of objects: also with those that refer to a deleted one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from .. import crashpoints
from ..logic import Service
from ..model import HeldInput, Key, Name
from ..model.reads import PARENT
from ..planning import Assumed, ClaimBook, Planner
from .marked_objects import MarkedObjects
from .object_queue import ObjectQueue
from .state_tables import StateTables


class ObjectChanges:
    """Notes the changes of objects, and queues their plans."""

    def __init__(
        self,
        *,
        logic: Service,
        book: ClaimBook,
        assumed: Assumed,
        planner: Planner,
        states: StateTables,
        objects: ObjectQueue,
        marked: MarkedObjects,
    ) -> None:
        self._logic = logic
        self._book = book
        self._assumed = assumed
        self._planner = planner
        self._states = states
        self._objects = objects
        self._marked = marked
        self._holding: dict[str, list[str]] = {}
        """Kind → the kinds whose references to it compilers write."""
        for kind in logic.schema:
            written = (kind.written(made=made) for made in (False, True))
            for target in {name for one in written for name in (*one.relations, *one.shared)}:
                self._holding.setdefault(target, []).append(kind.name)

    def listed(self, revision: int) -> None:
        """A listing of ``revision`` is about to be applied: it shows our writes up to there."""
        self._assumed.listed(revision)

    def echoed(self, key: Key, revision: int) -> None:
        """An event of ``key`` is about to be applied: a write of ours is seen by it."""
        if self._assumed.applied(key, revision):
            crashpoints.reach("echo.seen")

    def children_of(self, key: Key) -> list[Name]:
        """The objects below one that is about to be deleted that we must delete as well, claimed or not."""
        logic = self._logic
        kinds = (kind.name for kind in logic.schema if kind.system and kind.stored)
        children = (logic.cache.shown(child) for kind in kinds for child in logic.sources(key, kind, PARENT))
        return [child.name for child in children if child is not None]

    def holders_of(self, key: Key) -> list[Name]:
        """The objects that refer to one that is about to be deleted, by relations that compilers write: what they claim
        may lead to another object of its name, and no event of theirs says that they must refer to that."""
        logic = self._logic
        holders = (holder for kind in self._holding.get(key.kind, ()) for holder in logic.sources(key, kind, key.kind))
        found = (logic.cache.shown(holder) for holder in holders)
        return [holder.name for holder in found if holder is not None and self._book.on(holder.name)]

    def dangling(self, names: Collection[Name]) -> None:
        """The deletion of something that these objects refer to was seen."""
        self._objects.plan(names)

    def left_behind(self, names: Collection[Name]) -> None:
        """The deletion of these objects' parents was seen."""
        self._planner.left_behind(names)
        self._objects.plan(names)

    def changed(self, names: Iterable[Name], *, plan: bool, resync: bool) -> None:
        """These objects changed in the store: plan those that wait for them, and, with ``plan``, those of them that
        concern us."""
        self._marked.seen(names)
        self._objects.wake(names)
        if plan:
            affected = {*filter(self._concerns_us, names), *self._kept_for(names)}
            self._objects.plan(sorted(affected), resync=resync)

    def _kept_for(self, names: Iterable[Name]) -> Iterator[Name]:
        """The resources on which changed resources that are being deleted claim finalizers: such a claim stays, but
        counts only as long as something exists that was made for its intent."""
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
        """Whether a changed object must be planned: something claims it or waits for it, or it may carry something of
        ours."""
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
