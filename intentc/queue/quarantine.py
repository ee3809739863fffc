"""The list of held intents with their reasons: what can't be compiled now, shown to people and tried again.

A held key holds up nobody else, and its outputs stay as they are (engine.md §7); that is the planner's business. When
a key is tried again is the engine's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from intentc.model import Problem

K = TypeVar("K", bound=Hashable)


class Quarantined(NamedTuple):
    """Why a key is held, and since when (seconds since 1970) it has been."""

    problem: Problem
    since: float


class Quarantine(Generic[K]):
    """Held keys, in the order in which they were held. ``now`` gives seconds since 1970."""

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        self._held: dict[K, Quarantined] = {}
        self._now = now

    def hold(self, key: K, problem: Problem) -> bool:
        """Hold ``key``, or give the reason anew; ``since`` stays. True if that is news, and so worth a log line."""
        held = self._held.get(key)
        self._held[key] = Quarantined(problem, held.since if held else self._now())
        return held is None or held.problem != problem

    def release(self, key: K) -> bool:
        """Let go of ``key``. True if it was held."""
        return self._held.pop(key, None) is not None

    def items(self) -> tuple[tuple[K, Quarantined], ...]:
        """All held keys with their reasons, the longest held first."""
        return tuple(self._held.items())

    def get(self, key: K) -> Quarantined | None:
        """Why ``key`` is held; None if it isn't."""
        return self._held.get(key)

    def __contains__(self, key: object) -> bool:
        return key in self._held

    def __len__(self) -> int:
        return len(self._held)
