"""What nobody claims goes: after the first complete pass over the whole world, never before (engine.md §5.7).

Keeps, for each origin, which stored objects carry its mark: by that the ledger knows whether the objects that carry a
number are gone. Which objects are orphans, and how many may go at once, is ``planning``'s rule.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from ..model import SHARED, HeldInput, Key, Name
from .parts import Parts

_LOG = logging.getLogger(__name__)


class Collecting:
    """``complete`` once everything listed has been evaluated."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._carriers: dict[str, set[Name]] = {}
        self.complete = False

    def seen(self, names: Iterable[Name]) -> None:
        """These stored objects changed: note whose mark they carry."""
        for name in names:
            try:
                actual = self._parts.assumed.actual(name)
            except HeldInput:
                continue
            if actual is not None and actual.mark is not None and actual.mark.origin != SHARED:
                self._carriers.setdefault(actual.mark.origin, set()).add(name)

    def carriers(self, origin: str) -> frozenset[Name]:
        """The names of stored objects that carry the mark of ``origin``; those that can't be read count, too."""
        names = self._carriers.get(origin)
        if names is None:
            return frozenset()
        names -= {name for name in names if not self._carries(name, origin)}
        if not names:
            del self._carriers[origin]
        return frozenset(names)

    def first_pass_done(self) -> None:
        """Queue every object that is ours, or carries something of ours, and that nobody claims."""
        parts = self._parts
        for key in parts.logic.held:
            if key.kind in parts.logic.intent_kinds:
                parts.book.retain(key)
        self.complete = True
        found = parts.planner.orphans()
        for name in sorted(found):
            parts.objects.add(name, resync=True)
        if found:
            _LOG.info("first pass complete: %d objects carry something of ours that nobody claims", len(found))

    def origin_absent(self, uuid: str) -> bool:
        """Whether no intent has this uuid."""
        return not any(self._parts.logic.exists(Key(kind, uuid)) for kind in self._parts.logic.intent_kinds)

    def _carries(self, name: Name, origin: str) -> bool:
        try:
            actual = self._parts.assumed.actual(name)
        except HeldInput:
            return True
        return actual is not None and actual.mark is not None and actual.mark.origin == origin
