"""Owns the queue of objects to plan: which ones, in which order, and which of them wait for others.

Steps that change an object's desired state, or see it change, queue it; ``writes`` takes the objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from ..model import Name
from ..reconcile import KeyedQueue
from ..reconcile.keyed import RETRY

_NOBODY: frozenset[Name] = frozenset()


class Objects(KeyedQueue[Name]):
    """The queue of objects, each at most once."""

    def __init__(self) -> None:
        super().__init__(backoff=RETRY)
        self._waiters: dict[Name, set[Name]] = {}

    def plan(self, names: Iterable[Name], *, resync: bool = False) -> None:
        """Plan these objects, in this order. ``resync``: after all live ones; nothing may have changed."""
        for name in names:
            self.add(name, resync=resync)

    def wait_for(self, name: Name, others: Iterable[Name]) -> None:
        """Plan the object ``name`` again once one of ``others`` has changed."""
        for other in others:
            self._waiters.setdefault(other, set()).add(name)

    def waiters_of(self, name: Name) -> Set[Name]:
        """The objects that wait for this one."""
        return self._waiters.get(name, _NOBODY)

    def wake(self, names: Iterable[Name]) -> None:
        """These objects were created, deleted or changed: plan the objects that wait for them."""
        if self._waiters:
            self.plan(sorted({waiter for name in names for waiter in self._waiters.pop(name, ())}))
