"""Deletes what nothing claims, after the first complete pass over the world and never before (docs/engine.md §5.7).

Keeps, for each origin, which stored objects carry its mark, so that an allocation is freed only once the objects that
carry it are deleted. ``planning`` defines what an orphan is, and how many may be deleted at once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from ..model import SHARED, HeldInput, Key, Name
from .parts import Parts

_LOG = logging.getLogger(__name__)


class OrphanCollector:
    """``complete``: everything listed was evaluated; ``due``: a pass is to be made once the engine is idle."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._carriers: dict[str, set[Name]] = {}
        self._origin: dict[Name, str] = {}
        self.complete = False
        self.due = True

    def seen(self, names: Iterable[Name]) -> None:
        """Record the marks of stored objects that changed."""
        for name in names:
            try:
                actual = self._parts.assumed.actual(name)
            except HeldInput:
                continue
            if actual is not None and actual.mark is not None and actual.mark.origin != SHARED:
                self.note(name, actual.mark.origin)
            elif name in self._origin and not self._parts.objects.busy(name):
                self._forget(name)

    def note(self, name: Name, origin: str) -> None:
        """Record that this object carries the mark of ``origin``, or will once its creation is acknowledged."""
        if self._origin.get(name) != origin:
            self._forget(name)
            self._origin[name] = origin
            self._carriers.setdefault(origin, set()).add(name)

    def ended(self, name: Name) -> None:
        """The last plan of this object is carried out: if the object is absent, no creation is under way."""
        try:
            if name in self._origin and self._parts.assumed.actual(name) is None:
                self._forget(name)
        except HeldInput:
            return

    def carriers(self, origin: str) -> frozenset[Name]:
        """The names of objects that carry the mark of ``origin``, those that can't be read or are being created
        included."""
        for name in [name for name in self._carriers.get(origin, ()) if not self._carries(name, origin)]:
            self._forget(name)
        return frozenset(self._carriers.get(origin, ()))

    def make_pass(self) -> None:
        """Queue every unclaimed object that is ours or carries something of ours; runs after a listing was evaluated.

        The planner's guard withholds too many deletes at once."""
        parts = self._parts
        for key in parts.logic.held:
            if key.kind in parts.logic.intent_kinds:
                parts.book.retain(key)
        self.complete, self.due = True, False
        found = parts.planner.orphans()
        parts.drift.meant(found)
        for name in sorted(found):
            parts.objects.add(name, resync=True)
        if found:
            _LOG.info("pass complete: %d objects carry something of ours that nobody claims", len(found))
        for kind, names in sorted(parts.planner.guard.withheld.items()):
            _LOG.warning(
                "%d deletes of %s are withheld, since they are too many at once; if that is meant: "
                "`intentc allow-deletes %s`", len(names), kind, kind,
            )  # fmt: skip

    def origin_absent(self, uuid: str) -> bool:
        """Whether no intent has this uuid."""
        return not any(self._parts.logic.exists(Key(kind, uuid)) for kind in self._parts.logic.intent_kinds)

    def _forget(self, name: Name) -> None:
        origin = self._origin.pop(name, None)
        if origin is not None:
            self._carriers[origin].discard(name)
            if not self._carriers[origin]:
                del self._carriers[origin]

    def _carries(self, name: Name, origin: str) -> bool:
        try:
            actual = self._parts.assumed.actual(name)
        except HeldInput:
            return True
        if actual is None:
            return self._parts.objects.busy(name)
        return actual.mark is not None and actual.mark.origin == origin
