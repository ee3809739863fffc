"""Knows which stored objects carry the mark of each intent, so that an allocation is freed only after them.

It follows the marks in the store, and the creations that are under way; who claims an object now is in the claim book.
State: mark and object in both directions, in memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..model import SHARED, HeldInput, Name
from ..planning import Assumed, ClaimBook
from .object_queue import ObjectQueue


class Carriers:
    """The objects by the uuid of the intent in their mark (``origin``)."""

    def __init__(self, *, assumed: Assumed, book: ClaimBook, objects: ObjectQueue) -> None:
        self._assumed = assumed
        self._book = book
        self._objects = objects
        self._carriers: dict[str, set[Name]] = {}
        self._origin: dict[Name, str] = {}

    def seen(self, names: Iterable[Name]) -> None:
        """Record the marks of stored objects that changed."""
        for name in names:
            try:
                actual = self._assumed.actual(name)
            except HeldInput:
                continue
            if actual is not None and actual.mark is not None and actual.mark.origin != SHARED:
                self.note(name, actual.mark.origin)
            elif name in self._origin and not self._objects.is_busy(name):
                self._forget(name)

    def note(self, name: Name, origin: str) -> None:
        """Record that this object carries the mark of ``origin``, or will once its creation is acknowledged."""
        if self._origin.get(name) != origin:
            self._forget(name)
            self._origin[name] = origin
            self._carriers.setdefault(origin, set()).add(name)

    def carried_out(self, name: Name) -> None:
        """The last plan of this object is carried out: if the object is absent, no creation is under way."""
        try:
            if name in self._origin and self._assumed.actual(name) is None:
                self._forget(name)
        except HeldInput:
            return

    def of(self, origin: str) -> frozenset[Name]:
        """The names of objects that carry the mark of ``origin``, those that can't be read or are being created
        included."""
        for name in [name for name in self._carriers.get(origin, ()) if not self._carries(name, origin)]:
            self._forget(name)
        return frozenset(self._carriers.get(origin, ()))

    def unclaimed(self, origin: str) -> bool:
        """Whether an object of this origin still exists that the origin no longer claims."""
        return any(all(key.uuid != origin for key in self._book.on(name)) for name in self.of(origin))

    def _forget(self, name: Name) -> None:
        origin = self._origin.pop(name, None)
        if origin is not None:
            self._carriers[origin].discard(name)
            if not self._carriers[origin]:
                del self._carriers[origin]

    def _carries(self, name: Name, origin: str) -> bool:
        try:
            actual = self._assumed.actual(name)
        except HeldInput:
            return True
        if actual is None:
            return self._objects.is_busy(name)
        return actual.mark is not None and actual.mark.origin == origin
