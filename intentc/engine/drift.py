"""Detects changes that others make to our objects (drift), and repeated ones (contention), which back off.

An object that stood as its claims want it, and that somebody else has written since, has drifted; it is repaired and
journalled as drift. An object that others made and that is deleted, since nobody claims it, has drifted if they make it
again within ten minutes. A difference that our own writes cause (a target is replaced, a deferred removal is due) is no
drift: the object's revision is unchanged since it stood right. If others revert a part of an object five times in ten
minutes, that part (one field, one reference, or the object itself) is in contention: it is retried after 1 minute, and
a pause that runs to its end and is followed by a revert doubles, up to 1 hour (``backoff``). The other parts are
written as usual.

State: the revision at which each object was last right, the repairs of each part, and counts of repairs and
contentions. ``repairs`` decides what is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from ..model import Name
from ..planning.claims import EXISTENCE, Item
from ..planning.items import text
from ..reconcile.backoff import CONTENTION_SECONDS, PartRepairs

_SHOWN = 5
"""The number of contended parts of one object that are named; the others are counted."""


class Contention(NamedTuple):
    """``items``: the contended parts of the object. ``rest``: seconds until the first of them is tried again."""

    items: frozenset[Item]
    rest: float

    @property
    def fields(self) -> tuple[str, ...]:
        """The contended parts as text, the first few by name."""
        named = sorted(map(text, self.items))
        more = (f"{len(named) - _SHOWN} more",) if len(named) > _SHOWN else ()
        return (*named[:_SHOWN], *more)


class Drift:
    """Which objects stand as they should, and which parts are contended. ``clock``: seconds, monotonic."""

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
        """The object is as it should be, except for contended parts. ``revision``: its present mod revision, None if
        that is not known."""
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
        """Forget the object, contention included: nothing is wanted of it any more, or it is to be tried again."""
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
