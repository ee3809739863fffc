"""What somebody else changes of ours is put right and journalled as drift; a fight is left before it is for ever.

An object that stood as its claims want it, and differs though no claim changed, was changed by somebody else. Where
that goes on, two writers undo each other's work without end: then a breaker opens for that one object, says which
field is fought over, and tries again by and by. What to do about a difference is the planner's business.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..model import AddReference, Create, Delete, Name, Operation, RemoveReference, Update

REVERTS = 5
WINDOW = 600.0
"""So many repairs of one object in so many seconds are a fight."""
FIRST_REST = 60.0
LONGEST_REST = 3600.0
"""Seconds for which a fought object is left alone: the first time, and at most."""


class Fight(NamedTuple):
    """``fields``: what was set back. ``rest``: seconds until it is tried again."""

    fields: tuple[str, ...]
    rest: float


class _Record:
    __slots__ = ("fields", "rest", "times", "until")

    def __init__(self) -> None:
        self.times: deque[float] = deque(maxlen=REVERTS)
        self.fields: set[str] = set()
        self.rest = 0.0
        self.until = 0.0


class Drift:
    """Which objects stand as they should, and who is fought over. ``clock``: seconds, never back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._standing: set[Name] = set()
        self._records: dict[Name, _Record] = {}
        self.repairs = 0
        self.fights = 0

    def meant(self, names: Iterable[Name]) -> None:
        """What is wanted of these objects may be something else now: a difference is no drift."""
        names = tuple(names)
        self._standing.difference_update(names)
        for name in names if self._records else ():
            if name in self._records:
                # Something else is wanted: it is tried at once, and a revert of that is the next round of the fight.
                self._records[name].until = min(self._records[name].until, self._clock())

    def stands(self, name: Name) -> None:
        """The object is as it should be."""
        self._standing.add(name)

    def forget(self, name: Name) -> None:
        """Nobody wants anything of the object any more, or it shall be tried anew: no fight about it counts."""
        self._standing.discard(name)
        self._records.pop(name, None)

    def differs(self, name: Name, operations: tuple[Operation, ...]) -> bool:
        """The object needs these writes. True if that is drift; then it counts towards a fight."""
        if name not in self._standing:
            return False
        self._standing.discard(name)
        self.repairs += 1
        now = self._clock()
        record = self._records.setdefault(name, _Record())
        record.fields |= {field for operation in operations for field in fields(operation)}
        record.times.append(now)
        again = record.rest > 0 and now - record.until < record.rest
        many = len(record.times) == REVERTS and now - record.times[0] <= WINDOW
        if again or many:
            record.rest = min(2 * record.rest, LONGEST_REST) if again else FIRST_REST
            record.until = now + record.rest
            record.times.clear()
            self.fights += 1
        elif now - record.times[0] > WINDOW:
            record.rest, record.fields = 0.0, {field for operation in operations for field in fields(operation)}
        return True

    def fight(self, name: Name) -> Fight | None:
        """The fight for which this object is left alone now, if there is one."""
        record = self._records.get(name)
        if record is None or self._clock() >= record.until:
            return None
        return Fight(tuple(sorted(record.fields)), record.until - self._clock())

    def tidy(self) -> None:
        """Forget what was long ago."""
        now = self._clock()
        for name, record in list(self._records.items()):
            latest = max(record.until + record.rest, record.times[-1] + WINDOW if record.times else 0.0)
            if latest < now:
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
