"""Owns the objects that are to be planned: which ones, in which order, and which of them wait for which other ones.

It calls no other step. Whoever changes what is desired, or sees an object change, asks for its plan with ``plan`` or
``wake``; ``reconciler`` takes the objects.

State: the queue, and which objects wait for which.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from ..model import Name
from ..reconcile import KeyedQueue

_NOBODY: frozenset[Name] = frozenset()


class ObjectQueue:
    """Each object is in it at most once. Who takes an object must report the end of the work with ``done``."""

    def __init__(self) -> None:
        self._queue: KeyedQueue[Name] = KeyedQueue()
        self._waiters: dict[Name, set[Name]] = {}

    def plan(self, names: Iterable[Name], *, resync: bool = False) -> None:
        """Plan these objects, in this order. ``resync``: after all live ones; nothing may have changed."""
        for name in names:
            self._queue.add(name, resync=resync)

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

    async def next(self) -> Name:
        """The next object to plan."""
        return await self._queue.get()

    def take_all(self) -> tuple[Name, ...]:
        """All objects that wait for a plan."""
        return self._queue.take_all()

    def done(self, name: Name) -> None:
        """End the work on an object. If its plan was asked for meanwhile, it is planned once more."""
        self._queue.done(name)

    def retry(self, name: Name, *, after: float | None = None) -> None:
        """Plan the object again after a back-off, or after this many seconds, which counts as no failure."""
        self._queue.retry(name, after=after)

    def forget(self, name: Name) -> None:
        """The object is as it should be: its next failure counts as the first."""
        self._queue.forget(name)

    def failures(self, name: Name) -> int:
        """How often the writes of this object have failed in a row."""
        return self._queue.failures(name)

    def is_busy(self, name: Name) -> bool:
        """Whether the object waits for a plan, is being planned or written, or is in a back-off."""
        return self._queue.busy(name)

    def is_asked_again(self, name: Name) -> bool:
        """Whether another plan was asked for while the object is being planned or written."""
        return self._queue.asked_again(name)

    def backs_off(self, name: Name) -> bool:
        """Whether the object is in a back-off."""
        return self._queue.backs_off(name)

    def seconds_left(self, name: Name) -> float | None:
        """Seconds until the object's back-off ends; None if it is in none."""
        return self._queue.seconds_left(name)

    @property
    def delayed(self) -> Set[Name]:
        """The objects in a back-off."""
        return self._queue.delayed().keys()

    @property
    def idle(self) -> bool:
        """Whether no object waits for a plan or is being planned or written; those in a back-off don't count."""
        return self._queue.idle

    @property
    def settled(self) -> bool:
        """Whether it is idle, and no object is in a back-off either."""
        return self._queue.settled

    @property
    def pending(self) -> int:
        """How many objects wait for a plan, or are being planned or written."""
        return self._queue.pending()

    def close(self) -> None:
        """Cancel all back-offs."""
        self._queue.close()
