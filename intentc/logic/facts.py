"""Keeps the facts between intents, and cuts off cycles of them: intents that change each other's facts without end.

Each job caused by a changed fact records the way from the last change that was not a fact. An intent that is reached on
a way through itself a hundred times lies on a cycle (docs/engine.md §4.1); a long chain of facts does not, nor does a
hub with many contributors, nor intents that agree after some rounds. The intents of a cycle get no more jobs from each
other until another input of one of them changes. The engine holds what they contributed.

State: the facts, the ways and the cut cycles, in memory. ``logic.Service`` alone calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from intentc.model import Fact, Key, Problem

FactName = tuple[str, str]
"""(kind, name) of a fact."""


class FactTable:
    """The contributions to each fact. One contributor may contribute several values to one fact."""

    def __init__(self) -> None:
        self._values: dict[FactName, dict[Key, tuple[Any, ...]]] = {}
        self._names: dict[Key, tuple[FactName, ...]] = {}

    def replace(self, contributor: Key, facts: Iterable[Fact]) -> dict[FactName, bool]:
        """Set the facts of ``contributor``; return the facts that changed → whether the fact as a whole was created or
        deleted."""
        wanted: dict[FactName, tuple[Any, ...]] = {}
        for fact in facts:
            name = (fact.kind, fact.name)
            wanted[name] = (*wanted.get(name, ()), fact.value)
        changed: dict[FactName, bool] = {}
        for name in self._names.get(contributor, ()):
            if name not in wanted:
                changed[name] = self._withdraw(name, contributor)
        for name, values in wanted.items():
            contributions = self._values.setdefault(name, {})
            if contributions.get(contributor) != values:
                changed[name] = not contributions
                contributions[contributor] = values
        if wanted:
            self._names[contributor] = tuple(wanted)
        else:
            self._names.pop(contributor, None)
        return changed

    def contributions(self, name: FactName) -> tuple[tuple[Key, Any], ...]:
        """(contributor, value), sorted by contributor."""
        return tuple(
            (contributor, value)
            for contributor, values in sorted(self._values.get(name, {}).items(), key=lambda item: item[0])
            for value in values
        )

    def contributed_by(self, contributor: Key) -> tuple[FactName, ...]:
        """The facts to which an intent contributes, in the order in which it yielded them."""
        return self._names.get(contributor, ())

    def of(self, contributor: Key) -> tuple[Fact, ...]:
        """The facts of an intent, as it yielded them."""
        names = self.contributed_by(contributor)
        return tuple(Fact(*name, value) for name in names for value in self._values[name][contributor])

    def __iter__(self) -> Iterator[FactName]:
        """All facts that have contributions."""
        return iter(tuple(self._values))

    def __contains__(self, name: FactName) -> bool:
        """Whether a fact has contributions."""
        return name in self._values

    def _withdraw(self, name: FactName, contributor: Key) -> bool:
        """Remove a contribution; return whether it was the last one."""
        contributions = self._values[name]
        del contributions[contributor]
        if contributions:
            return False
        del self._values[name]
        return True


ROUNDS = 100
"""How often a way may pass through the same intent."""

FACT_CYCLE = "FactCycle"
"""The reason of the problem on each intent of a cycle."""

_SHOWN = 8
"""Intents of a cycle that a message names."""


class Hop(NamedTuple):
    """One step of a way: ``key`` was reached because ``before`` changed ``fact``. The first one, of ``length`` 0, is an
    intent that ran for another reason; its ``fact`` has no meaning. ``before`` is also None if a deleted object removed
    its facts."""

    key: Key
    fact: FactName
    before: Hop | None
    length: int


class FactCycles:
    """The ways of the intents that facts have reached and that did not run since, and the cycles that are cut off.

    ``named``: gives the name of an intent for people.
    """

    def __init__(self, named: Callable[[Key], str]) -> None:
        self._named = named
        self._coming: dict[Key, Hop] = {}
        self._cut: dict[Key, set[Key]] = {}
        """Intent → all intents of its cycle, which share the set."""
        self._news: set[Key] = set()
        self.problems: dict[Key, Problem] = {}
        """The intents that are cut off, with a problem that shows the cycle."""

    def __contains__(self, key: Key) -> bool:
        """Whether an intent is cut off."""
        return key in self._cut

    def runs(self, key: Key) -> Hop:
        """Return the way on which ``key`` was reached; it was evaluated now."""
        return self._coming.pop(key, None) or Hop(key, ("", ""), None, 0)

    def reach(self, key: Key, fact: FactName, before: Hop | None) -> Collection[Key]:
        """Reach a reader of a changed fact; return the intents that get a job for it. Empty if that would only continue
        a cycle; a whole cycle if it is cut off and this change is from outside."""
        hop = step(key, fact, before)
        members = self._cut.get(key)
        if members is not None:
            inside = _since_any(before, members)
            if not inside:
                return self.resume((key,))
            self._cut_off({key, *inside}, self.problems[key].message)
            return ()
        if hop.length % ROUNDS == 0:
            closed = _closed(hop)
            if closed:
                self._cut_off({passed.key for passed in closed}, self._message(closed))
                return ()
        earlier = self._coming.get(key)
        # The shorter way starts at the later cause outside; rounds are counted from there.
        if earlier is None or hop.length < earlier.length:
            self._coming[key] = hop
        return (key,)

    def resume(self, keys: Iterable[Key]) -> set[Key]:
        """Resume the cycles of ``keys``, each of which has a change other than a fact of its own cycle.

        Returns all intents of these cycles. Each must run: it may have missed what the others yielded last."""
        resumed: set[Key] = set()
        for key in keys:
            self._coming.pop(key, None)
            resumed |= self._cut.get(key, set())
        for key in resumed:
            del self._cut[key], self.problems[key]
            self._coming.pop(key, None)
        return resumed

    def forget(self, key: Key) -> None:
        """Forget an intent that was deleted."""
        self._coming.pop(key, None)

    def news(self, key: Key) -> tuple[tuple[Key, Problem], ...]:
        """The intents cut off since the last call, sorted, with their problems; ``key`` ran just now. It is always
        among them if it is cut off itself: its run ended well, and yet it must be held."""
        if key in self._cut:
            self._news.add(key)
        if not self._news:
            return ()
        found = tuple((cut, self.problems[cut]) for cut in sorted(self._news) if cut in self.problems)
        self._news.clear()
        return found

    def _cut_off(self, keys: set[Key], message: str) -> None:
        members = keys.union(*(self._cut.get(key, ()) for key in keys))
        for key in members:
            self._cut[key] = members
            self._coming.pop(key, None)
            if key not in self.problems:
                self.problems[key] = Problem(key.kind, self._named(key), FACT_CYCLE, message, str(key))
                self._news.add(key)

    def _message(self, closed: list[Hop]) -> str:
        last = closed[0].key
        lap = closed[: next(place for place, hop in enumerate(closed) if place and hop.key == last)]
        lap.reverse()
        first = min(range(len(lap)), key=lambda place: lap[place].key)
        # A hop names the fact that leads to it, so the fact of the first one closes the circle.
        lap = lap[first + 1 :] + lap[: first + 1]
        steps = [f"{kind} {name} → {self._called(key)}" for key, (kind, name), _, _ in lap[:_SHOWN]]
        if len(lap) > _SHOWN:
            steps.append(f"… {len(lap) - _SHOWN} more …")
        way = " → ".join((self._called(lap[-1].key), *steps))
        return f"facts change each other without end: {way}; cut off after {ROUNDS} rounds, break the circle"

    def _called(self, key: Key) -> str:
        return f"{key.kind} {self._named(key)}"


def step(key: Key, fact: FactName, before: Hop | None) -> Hop:
    """The way that continues from ``before`` by ``fact`` to ``key``."""
    return Hop(key, fact, before, before.length + 1 if before is not None else 1)


def _back(hop: Hop | None) -> Iterator[Hop]:
    while hop is not None:
        yield hop
        hop = hop.before


def _since_any(hop: Hop | None, members: Collection[Key]) -> list[Key]:
    """The intents on a way back to where it last passed one of ``members``; none if it never did."""
    passed = []
    for found in _back(hop):
        passed.append(found.key)
        if found.key in members:
            return passed
    return []


def _closed(hop: Hop) -> list[Hop]:
    """The hops of a way back to its first pass through its end; none if it passed less than ``ROUNDS`` times. All of
    them lie on one cycle, since each lies between two passes."""
    way = list(_back(hop))
    places = [place for place, found in enumerate(way) if found.key == hop.key]
    return way[: places[-1] + 1] if len(places) >= ROUNDS else []
