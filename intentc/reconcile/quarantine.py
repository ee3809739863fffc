"""The quarantine: keeps held keys, each with its reason and since when, and reports changes of the reasons.

A held key delays no other, and its outputs stay as they are (docs/engine.md §7): the engine and the planner ensure
that. The engine also decides when a key is tried again; ``inspection`` shows what is held.

State: the held keys, in memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from intentc.model import Problem

K = TypeVar("K", bound=Hashable)


class Quarantined(NamedTuple):
    """Why a key is held, and since when (seconds since 1970)."""

    problem: Problem
    since: float


Replace = Callable[[Iterable[Problem], Iterable[Problem]], None]


class Quarantine(Generic[K]):
    """Held keys, in the order in which they were held. ``now``: seconds since 1970. ``replace`` is called with the
    problems that a key was held for, and those that it is held for from now on, whenever they change."""

    def __init__(self, *, now: Callable[[], float] = time.time, replace: Replace = lambda before, after: None) -> None:
        self._held: dict[K, Quarantined] = {}
        self._now = now
        self._replace = replace

    def hold(self, key: K, problem: Problem) -> bool:
        """Hold ``key``, or change the reason; ``since`` stays. True if that is news, and so worth a log line."""
        held = self._held.get(key)
        self._held[key] = Quarantined(problem, held.since if held else self._now())
        if held is not None and held.problem == problem:
            return False
        self._replace((held.problem,) if held is not None else (), (problem,))
        return True

    def release(self, key: K) -> bool:
        """Release ``key``. True if it was held."""
        held = self._held.pop(key, None)
        if held is None:
            return False
        self._replace((held.problem,), ())
        return True

    def items(self) -> tuple[tuple[K, Quarantined], ...]:
        """All held keys with their reasons, the oldest first."""
        return tuple(self._held.items())

    def __iter__(self) -> Iterator[K]:
        """The held keys, the oldest first."""
        return iter(self._held)

    def __getitem__(self, key: K) -> Quarantined:
        return self._held[key]

    def get(self, key: K) -> Quarantined | None:
        """Why ``key`` is held; None if it isn't."""
        return self._held.get(key)

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def __len__(self) -> int:
        return len(self._held)
