"""Decides which finalizers and which status a resource must have now, and in which order what an owner made is deleted
(docs/engine.md §5.8, §14).

Apart from the other fields, because nothing that holds those back holds these: an object whose name is taken, or that
waits for its own deletion, would otherwise keep a finalizer of ours for ever, and so never be gone. Of copies and
objects of other installations only the finalizers are planned, once they are being deleted.

Everything is read from the store and the queue of writes, so a process that is killed anywhere goes on where the store
stands. Whose an item of a status is, is stored with it (``status_claims``), since kinds are shared with other
controllers. Times are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from intentc.model import SHARED, Delete, HeldInput, Key, Name, ResourceClaim, Schema, Update, UpdateStatus
from intentc.model.metadata import FINALIZERS
from intentc.model.status import STATUS, STATUS_CLAIMS, claims_of, status_item, timeless

from .actual import Actual
from .assumed import Assumed
from .claims import ClaimBook, finalizer_item
from .deletion import Removals
from .desired import Draft
from .diff import MayRemove
from .merge import Desired
from .ownership import Ownership

MadeFor = Callable[[str], Collection[Name]]
"""The objects with the mark of an owner (its uuid), also those that are being created or can't be read."""


class Ending:
    """``finalizers``: the names that compilers declare. ``made_for``: the objects of an owner."""

    def __init__(
        self,
        schema: Schema,
        installation: str,
        book: ClaimBook,
        assumed: Assumed,
        removals: Removals,
        *,
        finalizers: Collection[str],
        made_for: MadeFor,
    ) -> None:
        self._schema = schema
        self._installation = installation
        self._book = book
        self._assumed = assumed
        self._removals = removals
        self._declared = frozenset(finalizers)
        self._made_for = made_for

    def concerns(self, actual: Actual) -> bool:
        """Whether a stored resource has a finalizer of ours."""
        return bool(self._declared) and not self._declared.isdisjoint(actual.finalizers)

    def plan(self, draft: Draft, actual: Actual, ownership: Ownership) -> None:
        """Add the changes of finalizers and status that are permitted now to the writes of ``draft``."""
        if any(isinstance(operation, Delete) for operation in draft.operations):
            # What is left afterwards, since it has finalizers, is planned then.
            return
        is_touched = ownership not in {Ownership.COPY, Ownership.OTHERS}
        if is_touched or actual.is_being_deleted:
            self._finalizers(draft, actual, self._removals.may_remove(draft, actual))
        if is_touched:
            self._status(draft, actual, self._removals.may_clear(draft))

    def plan_all(self, draft: Draft, actual: Actual) -> None:
        """Add the changes of both, whatever is permitted now."""
        self._finalizers(draft, actual, lambda _: True)
        self._status(draft, actual, lambda _: True)

    def _finalizers(self, draft: Draft, actual: Actual, may_remove: MayRemove) -> None:
        if not draft.desired.finalizers and not self.concerns(actual):
            return
        wanted, waits_for = self._wanted(actual, draft.desired.finalizers, may_remove)
        draft.waits_for |= waits_for
        if wanted == actual.finalizers:
            return
        # One update of the object at most: the second one would expect a revision that is no more.
        for position, operation in enumerate(draft.operations):
            if isinstance(operation, Update):
                changed = {**operation.properties, FINALIZERS: wanted}
                draft.operations[position] = operation._replace(properties=changed)
                return
        draft.operations.insert(0, Update(actual.key, draft.name, {FINALIZERS: wanted}, {}, actual.revision))

    def _status(self, draft: Draft, actual: Actual, may_clear: MayRemove) -> None:
        change = _status_change(actual, draft.desired, self._installation, may_clear)
        if change is not None:
            draft.operations.append(change)

    def _wanted(
        self, actual: Actual, claimed: Mapping[str, Collection[Key]], may_remove: MayRemove
    ) -> tuple[tuple[str, ...], set[Name]]:
        """The finalizers that a stored resource must have now, and the objects that must be gone before it has fewer.
        ``claimed``: finalizer → the intents that claim it."""
        in_force: set[str] = set()
        waits_for: set[Name] = set()
        for name, origins in claimed.items():
            for origin in origins:
                if not self._is_being_deleted(origin):
                    in_force.add(name)
                elif left := self._made_for(origin.uuid):
                    in_force.add(name)
                    waits_for.update(left)
        stored = actual.finalizers
        own = [name for name in stored if name in self._declared and name not in in_force]
        left = self._made_for(actual.key.uuid) if own else ()
        waits_for.update(left)
        # A held intent elsewhere, whose claims are unknown since a restart, must not hold up a deletion.
        ends = actual.is_being_deleted and self._book.complete
        staying = {name for name in own if left or not (ends or may_remove(finalizer_item(name)))}
        wanted = [name for name in stored if name not in self._declared or name in in_force or name in staying]
        if not actual.is_being_deleted:
            # Afterwards the server takes none any more.
            wanted += sorted(in_force.difference(stored))
        return tuple(wanted), waits_for

    def without_finalizer(self, origins: Collection[Key]) -> frozenset[Name]:
        """The resources that lack a finalizer which an intent of ``origins`` claims: until they have it, nothing is
        created that these intents claim."""
        missing: set[Name] = set()
        for origin in origins:
            for claim in self._book.finalizers_of(origin):
                try:
                    holder = self._assumed.actual(claim.holder)
                except HeldInput:
                    holder = None
                if holder is None or claim.finalizer not in holder.finalizers:
                    missing.add(claim.holder)
        return frozenset(missing)

    def before(self, actual: Actual) -> frozenset[Name]:
        """The objects that must be gone before this one, which nobody claims, is deleted: of the same owner, of a
        higher phase, and claimed by nobody either."""
        phase_field = actual.kind.phased
        if not phase_field or actual.mark is None or actual.mark.origin == SHARED:
            return frozenset()
        phase = actual.value(phase_field)
        return frozenset(
            name
            for name in self._made_for(actual.mark.origin)
            if name != actual.name and not self._is_claimed(name) and self._is_above(name, phase)
        )

    def is_ending(self, origin: str) -> bool:
        """Whether the owner with this uuid is being deleted."""
        return any(self._is_being_deleted(Key(kind.name, origin)) for kind in self._schema if kind.written_as_manifests)

    def _is_above(self, name: Name, phase: int) -> bool:
        """Whether an object exists, or is being created, in a higher phase."""
        kind = self._schema.kinds.get(name.kind)
        if kind is None or not kind.phased:
            return False
        try:
            actual = self._assumed.actual(name)
        except HeldInput:
            return True
        # One that is being created is claimed by nobody any more, and its phase is known once it is there.
        return actual is None or actual.value(kind.phased) > phase

    def _is_claimed(self, name: Name) -> bool:
        return any(isinstance(claim, ResourceClaim) for claims in self._book.on(name).values() for claim in claims)

    def _is_being_deleted(self, origin: Key) -> bool:
        try:
            actual = self._assumed.at(origin)
        except HeldInput:
            return False
        return actual is not None and actual.is_being_deleted


def _status_change(actual: Actual, desired: Desired, installation: str, may_clear: MayRemove) -> UpdateStatus | None:
    """The write of an object's status, None if the status is right."""
    declared = actual.kind.status
    if declared is None or declared.is_input:
        return None
    stored = actual.value(STATUS)
    ours = claims_of(actual.value(STATUS_CLAIMS), installation)
    if not ours and not desired.status:
        return None
    parts: dict[str, Any] = {}
    left = set(desired.status)
    for item, value in desired.status.items():
        if timeless(declared.part(stored, item)) != value:
            parts[item] = value
    for item in ours:
        if item in desired.status:
            continue
        if status_item(item) in desired.disputed or not may_clear(status_item(item)):
            left.add(item)
        elif declared.is_known(item) and declared.is_set(stored, item):
            parts[item] = None
    if not parts and left == set(ours):
        return None
    return UpdateStatus(actual.key, actual.name, parts, installation, tuple(sorted(left)))
