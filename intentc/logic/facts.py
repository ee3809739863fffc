"""Facts: derived values that intents contribute for each other, kept in memory only (docs/engine.md §4.1).

State: the facts by contributor and by name; only ``logic.Service`` changes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from intentc.model import Fact, Key

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
