"""Owns the jobs: which intents are to be evaluated, in which order, and because of what.

Why one owner: a job without its cause counts as unprompted, and a cause without its job is never used. So nobody else
touches the queue of jobs (``reconcile/keyed.py``) or the causes. It calls no other step: whoever learns that something
changed schedules the intents that it affects, operator actions and the engine ask for evaluations, and ``evaluator``
takes the jobs. State: jobs and causes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..logic import Job, Service
from ..model import Key
from ..reconcile import KeyedQueue

_UNPROMPTED = Job(by_readers=True, path=(), missing=None)
"""The cause of an evaluation that was requested, resumed or retried: its memo is not asked."""


class Scheduler:
    """One job for each intent that is to be evaluated. Who takes a job must report its end with ``done``."""

    def __init__(self, *, logic: Service) -> None:
        self._logic = logic
        self._jobs: KeyedQueue[Key] = KeyedQueue()
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
            self._jobs.add(key, resync=resync)

    def reevaluate(self, keys: Iterable[Key]) -> None:
        """Enqueue these intents, as far as they exist, whether or not their memos are valid."""
        for key in keys:
            self._causes.pop(key, None)
            if self._logic.exists(key):
                self._jobs.add(key)

    def resync(self, key: Key) -> None:
        """Enqueue this intent once more, after all live jobs, whether or not its memo is valid."""
        job = self._causes.get(key)
        if job is not None:
            self._causes[key] = job._replace(by_readers=True)
        if self._logic.exists(key):
            self._jobs.add(key, resync=True)

    async def next(self) -> Key:
        """The next intent to evaluate."""
        return await self._jobs.get()

    def take(self) -> Key | None:
        """Like ``next``, but None if no job waits."""
        return self._jobs.take()

    def take_cause(self, key: Key) -> Job:
        """Why the intent is evaluated now. A cause is given out once."""
        return self._causes.pop(key, _UNPROMPTED)

    def done(self, key: Key) -> None:
        """End the work on a job. If the intent was scheduled meanwhile, it is evaluated once more."""
        self._jobs.done(key)

    def retry(self, key: Key, *, after: float | None = None) -> None:
        """Evaluate the intent again after a back-off, or after this many seconds, which counts as no failure."""
        self._jobs.retry(key, after=after)

    def forget(self, key: Key) -> None:
        """The intent was evaluated, or is deleted: its next failure counts as the first."""
        self._jobs.forget(key)

    def failures(self, key: Key) -> int:
        """How often the evaluation of this intent has failed in a row."""
        return self._jobs.failures(key)

    def seconds_left(self, key: Key) -> float | None:
        """Seconds until the intent's back-off ends; None if it is in none."""
        return self._jobs.seconds_left(key)

    def is_resync(self, key: Key) -> bool:
        """Whether the intent is evaluated now although nothing may have changed."""
        return self._jobs.is_resync(key)

    def is_busy(self, key: Key) -> bool:
        """Whether the intent has a job: one that waits, is being done, or is in a back-off."""
        return self._jobs.busy(key)

    @property
    def idle(self) -> bool:
        """Whether no job waits or is being done; those in a back-off don't count."""
        return self._jobs.idle

    @property
    def settled(self) -> bool:
        """Whether it is idle, and no job is in a back-off either."""
        return self._jobs.settled

    @property
    def pending(self) -> int:
        """How many jobs wait or are being done."""
        return self._jobs.pending()

    @property
    def oldest_seconds(self) -> float:
        """Seconds that the oldest job has waited for a worker; 0 if none waits."""
        return self._jobs.oldest_seconds()

    def close(self) -> None:
        """Cancel all back-offs."""
        self._jobs.close()
