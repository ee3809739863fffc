"""Repairs what others change of ours, and journals it as drift; contention is left alone before it goes on for ever.

An object that stood as its claims want it, and was written since by somebody else, has drifted. A difference that our
own writes bring about (a target is replaced, a removal is no longer deferred) is no drift: the object's revision is
still the one at which it stood. Where others set a part of an object back five times in ten minutes, that part (one
field, one reference, or the object itself) is in contention: it is left alone for a minute, then tried again, and the
pause doubles up to an hour. The other parts are written as ever. What to do about a difference is the planner's
business.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from ..model import AddReference, Create, Delete, Name, Operation, RemoveReference, Update
from ..planning.claims import Item
from ..planning.items import text

REVERTS = 5
WINDOW = 600.0
"""So many repairs of one part of an object in so many seconds are contention."""
FIRST_REST = 60.0
LONGEST_REST = 3600.0
"""Seconds for which a contended part is left alone: the first time, and at most."""
_SHOWN = 5
"""Contended parts of one object that are named; of the others the number."""


class Contention(NamedTuple):
    """``items``: the parts of the object in contention. ``rest``: seconds until the first of them is tried again."""

    items: frozenset[Item]
    rest: float

    @property
    def fields(self) -> tuple[str, ...]:
        """The contended parts as people read them, the first few by name."""
        named = sorted(map(text, self.items))
        more = (f"{len(named) - _SHOWN} more",) if len(named) > _SHOWN else ()
        return (*named[:_SHOWN], *more)


class _Record:
    """One part of an object: when it was repaired, and until when it is left alone."""

    __slots__ = ("rest", "times", "until")

    def __init__(self) -> None:
        self.times: tuple[float, ...] = ()
        self.rest = 0.0
        self.until = 0.0

    def repaired(self, now: float) -> bool:
        """Count one more repair. True if the part is in contention from now on."""
        self.times = (*self.times[1 - REVERTS :], now)
        again = self.rest > 0 and now - self.until < self.rest
        if again or (len(self.times) == REVERTS and now - self.times[0] <= WINDOW):
            self.rest = min(2 * self.rest, LONGEST_REST) if again else FIRST_REST
            self.until = now + self.rest
            self.times = ()
            return True
        if now - self.times[0] > WINDOW:
            self.rest = 0.0
        return False


class Drift:
    """Which objects stand as they should, and which parts are in contention. ``clock``: seconds, never back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._standing: dict[Name, int | None] = {}
        self._records: dict[Name, dict[Item, _Record]] = {}
        self.repairs = 0
        self.contentions = 0

    def meant(self, names: Iterable[Name]) -> None:
        """What is wanted of these objects may be something else now: a difference is no drift."""
        for name in names:
            self._standing.pop(name, None)
            for record in self._records.get(name, {}).values() if self._records else ():
                # Something else is wanted: it is tried at once, and a revert of that is the next round.
                record.until = min(record.until, self._clock())

    def __contains__(self, name: Name) -> bool:
        """Whether anything is known of this object: if not, what it needs is neither drift nor in contention."""
        return name in self._standing or name in self._records

    def stands(self, name: Name, revision: int | None) -> None:
        """The object is as it should be, but for what is in contention. ``revision``: the mod revision of the object as
        it is now, None if that is not known."""
        self._standing[name] = revision

    def forget(self, name: Name) -> None:
        """Nobody wants anything of the object any more, or it shall be tried anew: no contention about it counts."""
        self._standing.pop(name, None)
        self._records.pop(name, None)

    def differs(self, name: Name, revision: int | None, items: Collection[Item]) -> bool:
        """Writes of these parts are needed, and the object is at ``revision`` now. True if that is drift: then it
        counts towards contention."""
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
        contended = [records.setdefault(item, _Record()).repaired(now) for item in tried]
        self.contentions += any(contended)
        return True

    def contention(self, name: Name) -> Contention | None:
        """The parts of this object that are left alone now, if there are any."""
        now = self._clock()
        contended = {item: record.until - now for item, record in self._records.get(name, {}).items()}
        contended = {item: rest for item, rest in contended.items() if rest > 0}
        return Contention(frozenset(contended), min(contended.values())) if contended else None

    def tidy(self) -> None:
        """Forget what was long ago."""
        now = self._clock()
        for name, records in list(self._records.items()):
            for item, record in list(records.items()):
                latest = max(record.until + record.rest, record.times[-1] + WINDOW if record.times else 0.0)
                if latest < now:
                    del records[item]
            if not records:
                del self._records[name]


def fields(operation: Operation) -> tuple[str, ...]:
    """The fields that a write sets; ``the object itself`` for a create or delete."""
    match operation:
        case Update(properties=properties, references=references):
            return (*properties, *(f"{relation}_refs" for relation in references))
        case AddReference(relation=relation) | RemoveReference(relation=relation):
            return (f"{relation}_refs",)
        case Create() | Delete():
            return ("the object itself",)
