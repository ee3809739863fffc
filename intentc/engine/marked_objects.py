"""Tracks which stored objects may still show what an intent no longer claims.

``allocations`` asks before it frees a value: while an object may show the value, it must not be given to another owner
(docs/engine.md §8). For one intent these objects are tracked:

- the objects that carry its mark, or are being created with it, and that it does not claim;
- if it has allocations: the objects on which it changed its claims, until their next plan is carried out;
- if it has allocations that another process was given: every object that other processes may have written, until a
  pass has found these objects and they are planned again.

An intent waits for one object at a time, or for all objects of other processes together. So an acknowledged write
concerns only the intents that wait for its object, and no others are checked.

``Marks`` has the first of these; the planner asks it as well, since it must know the objects that are being created.
The claim book, the plans and the queue are only read.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from ..model import SHARED, Delete, HeldInput, Name
from ..planning import Assumed, Plan, Planner
from .objects import Objects

_ANY_LEFT_OVER = Name("", ())
"""Represents, as what an intent waits for, all objects that other processes may have written."""
_NEXT_PASS = Name("", ("",))
"""Represents, as what an intent waits for, the next pass: it finds what other processes may have written."""


class Marks:
    """Which objects carry the mark of which intent, by the intent's uuid, which is the ``origin`` in their mark."""

    def __init__(self, assumed: Assumed, objects: Objects) -> None:
        self._assumed = assumed
        self._objects = objects
        self._marked: dict[str, set[Name]] = {}
        self._origin: dict[Name, str] = {}
        self.gone: set[Name] = set()
        """Objects that carry no mark any more, until ``MarkedObjects`` has taken note of them."""

    def __contains__(self, name: Name) -> bool:
        return name in self._origin

    def seen(self, names: Iterable[Name]) -> None:
        """Record the marks of stored objects that changed."""
        for name in names:
            try:
                mark = self._assumed.mark(name)
            except HeldInput:
                continue
            if mark is not None and mark.origin != SHARED:
                self.note(name, mark.origin)
            elif name in self._origin and not self._objects.busy(name):
                self.forget(name)

    def note(self, name: Name, origin: str) -> None:
        """Record that this object carries the mark of ``origin``, or will once its creation is acknowledged."""
        if self._origin.get(name) != origin:
            self.forget(name)
            self._origin[name] = origin
            self._marked.setdefault(origin, set()).add(name)

    def of(self, origin: str) -> frozenset[Name]:
        """The names of objects that carry the mark of ``origin``, those that can't be read or are being created
        included."""
        for name in [name for name in self._marked.get(origin, ()) if not self._carries(name, origin)]:
            self.forget(name)
        return frozenset(self._marked.get(origin, ()))

    def forget(self, name: Name) -> None:
        """The object is absent, or carries no mark."""
        origin = self._origin.pop(name, None)
        if origin is not None:
            self._marked[origin].discard(name)
            if not self._marked[origin]:
                del self._marked[origin]
            self.gone.add(name)

    def _carries(self, name: Name, origin: str) -> bool:
        try:
            actual = self._assumed.actual(name)
        except HeldInput:
            return True
        if actual is None:
            return self._objects.busy(name)
        return actual.mark is not None and actual.mark.origin == origin


class MarkedObjects:
    """Which objects delay the release of which intents' allocations, by the intents' uuids."""

    def __init__(self, marks: Marks, planner: Planner, objects: Objects) -> None:
        self.marks = marks
        self._book = planner.book
        self._planner = planner
        self._objects = objects
        self._changed: dict[str, set[Name]] = {}
        self._changed_by: dict[Name, set[str]] = {}
        self._left_over: set[Name] = set()
        """The objects that other processes may have written."""
        self._unfollowed: set[str] = set()
        self._until_pass: set[str] = set()
        self._waits: dict[str, Name] = {}
        self._waiting: dict[Name, set[str]] = {}
        self._freed: set[str] = set()

    def claims_changed(self, origin: str, names: Iterable[Name]) -> None:
        """The claims of ``origin`` on these objects changed. Until they are planned and written, they may show what it
        claimed before."""
        for name in names:
            self._changed.setdefault(origin, set()).add(name)
            self._changed_by.setdefault(name, set()).add(origin)

    def await_pass(self, origin: str) -> None:
        """An allocation of ``origin``, which another process was given, is to be freed. Which objects that process
        wrote is unknown until the next pass."""
        self._until_pass.add(origin)

    @property
    def awaits_pass(self) -> bool:
        """Whether allocations can't be freed before a pass."""
        return bool(self._until_pass)

    def left_over(self, names: Iterable[Name], released: Iterable[str] = ()) -> None:
        """A pass is done: these objects have something of ours that nobody claims, and all claimed objects are planned
        again. All of them may show what another process wrote for the origins that await a pass, and for ``released``.
        """
        self._unfollowed |= {*self._until_pass, *released}
        self._until_pass.clear()
        if self._unfollowed:
            self._left_over = {name for name in names if name not in self.marks}.union(self._book.names())
        if not self._left_over:
            self._unfollowed.clear()
        self._frees(_NEXT_PASS)

    def carried_out(self, plan: Plan, *, in_full: bool = True) -> None:
        """The plan of this object is carried out. If the object is absent now, no creation of it is under way; if
        nothing is left to remove from it, it shows only what is claimed now. ``in_full``: nothing of it is contended or
        rejected."""
        name = plan.name
        is_followed = name in self._changed_by or name in self._left_over or name in self._waiting
        if not is_followed and (name not in self.marks or _leaves_it_there(plan)):
            return
        try:
            actual = self._planner.assumed.actual(name)
        except HeldInput:
            return
        if actual is None and in_full:
            self.marks.forget(name)
        if actual is None or not self._may_show(plan, in_full=in_full):
            self._no_longer_left_over(name)
            for origin in self._changed_by.pop(name, ()):
                self._changed[origin].discard(name)
                if not self._changed[origin]:
                    del self._changed[origin]
            self._frees(name)

    def _may_show(self, plan: Plan, *, in_full: bool) -> bool:
        """Whether something that nobody claims may stay in an object although its plan is carried out.

        A plan does not clear everything if it reports a problem or defers a removal, if the object waits for its own
        deletion, or if its claims changed during the write. Then the stored content decides: these reasons may last,
        and have nothing to do with what this intent claimed."""
        name = plan.name
        waits = name in plan.waits_for or (bool(plan.waits_for) and name not in self._book)
        clears = in_full and not (plan.problems or plan.deferred or waits or self._objects.asked_again(name))
        return not clears and self._planner.shows_unclaimed(name)

    def hold_up(self, origin: str) -> bool:
        """Whether a stored object may still show what this origin no longer claims. If so, ``take_freed`` names the
        origin once that object no longer does."""
        before = self._waits.pop(origin, None)
        if before is not None:
            self._waiting[before].discard(origin)
            if not self._waiting[before]:
                del self._waiting[before]
        name = self._holding_up(origin)
        if name is None:
            return False
        self._waits[origin] = name
        self._waiting.setdefault(name, set()).add(origin)
        return True

    def take_freed(self) -> Set[str]:
        """Return, once, the origins whose object no longer holds them up; another object may."""
        if self.marks.gone:
            gone, self.marks.gone = self.marks.gone, set()
            for name in gone:
                self._frees(name)
        freed = self._freed
        if freed:
            self._freed = set()
        return freed

    def _holding_up(self, origin: str) -> Name | None:
        """One object that may still show something; an origin waits for each in turn."""
        for name in self._changed.get(origin, ()):
            return name
        if origin in self._until_pass:
            return _NEXT_PASS
        if self._left_over and origin in self._unfollowed:
            return _ANY_LEFT_OVER
        for name in self.marks.of(origin):
            if all(key.uuid != origin for key in self._book.on(name)):
                return name
        return None

    def _no_longer_left_over(self, name: Name) -> None:
        if name in self._left_over:
            self._left_over.remove(name)
            if not self._left_over:
                self._unfollowed.clear()
                self._frees(_ANY_LEFT_OVER)

    def _frees(self, name: Name) -> None:
        """Free the origins that wait for this object: it shows nothing unclaimed any more."""
        for origin in self._waiting.pop(name, ()):
            del self._waits[origin]
            self._freed.add(origin)


def _leaves_it_there(plan: Plan) -> bool:
    """Whether the object exists once the writes of its plan are made."""
    return not isinstance(plan.operations[-1], Delete) if plan.operations else plan.revision != 0
