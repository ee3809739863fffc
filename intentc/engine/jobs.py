"""Owns the jobs: which intents are to be evaluated, in which order, and why.

Why one owner: a job without its cause counts as unprompted, and a cause without its job is never used. Whoever learns
that something changed schedules the intents that it affects; ``evaluator`` does the jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..logic import Job, LiveWorld
from ..model import Key
from ..reconcile import KeyedQueue
from ..reconcile.keyed import RETRY

_UNPROMPTED = Job(by_readers=True, path=(), missing=None)
"""The cause of an evaluation that was requested, resumed or retried, which ignores the memo."""


class Jobs(KeyedQueue[Key]):
    """One job for each intent that is to be evaluated."""

    def __init__(self, world: LiveWorld) -> None:
        super().__init__(backoff=RETRY)
        self._world = world
        self._causes: dict[Key, Job] = {}

    def schedule(self, jobs: Mapping[Key, Job], *, resync: bool = False) -> None:
        """Enqueue the intents that a change affects. ``resync``: after all live jobs; nothing may have changed."""
        for key, job in jobs.items():
            earlier = self._causes.get(key)
            if earlier is None:
                self._causes[key] = job
            elif job.by_readers and not earlier.by_readers:
                # If the map led here from the same change, its path is the intended one.
                meant = earlier.path[:1] == job.path[:1]
                self._causes[key] = earlier._replace(by_readers=True, missing=job.missing) if meant else job
            self.add(key, resync=resync)

    def reevaluate(self, keys: Iterable[Key]) -> None:
        """Enqueue those of these intents that exist, whether or not their memos are valid."""
        for key in keys:
            self._causes.pop(key, None)
            if self._world.exists(key):
                self.add(key)

    def resync(self, key: Key) -> None:
        """Enqueue this intent once more, after all live jobs, whether or not its memo is valid. After the last intent,
        call ``Engine.reevaluate(())``."""
        job = self._causes.get(key)
        if job is not None:
            self._causes[key] = job._replace(by_readers=True)
        if self._world.exists(key):
            self.add(key, resync=True)

    def take_cause(self, key: Key) -> Job:
        """Why the intent is evaluated now. A cause is given out once."""
        return self._causes.pop(key, _UNPROMPTED)
