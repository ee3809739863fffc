"""Decides which finalizers a resource must have now, and in which order what an owner made is deleted
(docs/engine.md §14).

Everything is read from the store and the queue of writes: which objects an owner still has or is getting, and whether
an object is really gone. So a process that is killed anywhere goes on where the store stands. ``planner`` and
``finalizers_and_status`` ask it about each object that they plan; ``diff`` decides about other fields.

It only reads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from intentc.model import SHARED, HeldInput, Key, Name, ResourceClaim, Schema

from .actual import Actual
from .assumed import Assumed
from .claims import ClaimBook, finalizer_item
from .diff import MayRemove

MadeFor = Callable[[str], Collection[Name]]
"""The objects with the mark of an owner (its uuid): those that are being created and those that can't be read
included."""


class Finalizers(NamedTuple):
    """``wanted``: the finalizers that a resource must have now, in their order. ``waits_for``: the objects that must be
    gone before it has fewer."""

    wanted: tuple[str, ...]
    waits_for: frozenset[Name]


class Ending:
    """``finalizers``: the names that compilers declare. ``made_for``: the objects of an owner."""

    def __init__(
        self, schema: Schema, book: ClaimBook, assumed: Assumed, *, finalizers: Collection[str], made_for: MadeFor
    ) -> None:
        self._schema = schema
        self._book = book
        self._assumed = assumed
        self._declared = frozenset(finalizers)
        self._made_for = made_for

    def concerns(self, actual: Actual) -> bool:
        """Whether a stored resource has a finalizer of ours."""
        return bool(self._declared) and not self._declared.isdisjoint(actual.finalizers)

    def finalizers(self, actual: Actual, claimed: Mapping[str, Collection[Key]], may_remove: MayRemove) -> Finalizers:
        """The finalizers of a stored resource. ``claimed``: finalizer → the intents that claim it."""
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
        return Finalizers(tuple(wanted), frozenset(waits_for))

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
