"""Shows a running engine to code that only reads it: live, so read it between two awaits.

What changes an engine is a verb of ``Engine``; none of these readers calls one, nor a method that changes a table.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from ..evaluation import Naming, Runner
from ..journal import Journal
from ..logic import LiveWorld
from ..planning import Planner
from .jobs import Jobs
from .objects import Objects
from .state_tables import StateTables


class ReloadRecord:
    """What ``/status`` and ``/reactions`` show of reloads; ``service/reload.py`` reloads, and records it here.

    ``loaded_at``: when the present map was loaded (seconds since 1970); ``reloads``: successful reloads since the
    start; ``failures``: failed ones; ``last_error``: why the last one failed, None if it didn't; ``under_way``: whether
    one is requested or under way."""

    def __init__(self) -> None:
        self.loaded_at = time.time()
        self.reloads = 0
        self.failures = 0
        self.last_error: str | None = None
        self.under_way = False

    def failed(self, error: str) -> None:
        """A reload failed: the former map stays in force."""
        self.last_error = error
        self.failures += 1

    def succeeded(self) -> None:
        """A reload was applied."""
        self.last_error = None
        self.reloads += 1
        self.loaded_at = time.time()

    def status(self) -> dict[str, Any]:
        """For ``/status``: the values above."""
        return {
            "loaded_at": self.loaded_at,
            "reloads": self.reloads,
            "failures": self.failures,
            "last_error": self.last_error,
            "under_way": self.under_way,
        }


class Progress(NamedTuple):
    """An engine as a whole, at one moment: what is left to do, what may be done, and the counters since the start."""

    first_pass_complete: bool
    """Whether everything of a listing was evaluated once."""
    jobs: int
    """How many intents are to be evaluated or are being evaluated."""
    jobs_idle: bool
    """Whether there are none; those in a back-off don't count."""
    oldest_job_seconds: float
    """Seconds that the oldest job has waited for a worker; 0 if none waits."""
    cooling_down: int
    """How many expensive intents have a new job during their cooldown."""
    objects: int
    """How many objects are to be planned, or are being planned or written."""
    queues_settled: bool
    """Whether nothing is in a queue, or in a back-off."""
    in_flight: int
    """The number of objects whose writes are under way."""
    requested_allocations: int
    """The number of open requests for allocations."""
    allocations_idle: bool
    """Whether no request is queued or under way; those in back-off don't count."""
    allocations_settled: bool
    """Whether none is in a back-off either."""
    may_write: bool
    """Whether a write may begin right now."""
    withheld: Mapping[str, str]
    """Why writes are withheld: reason → message."""
    reachable: bool
    """Whether the API server answered the last request."""
    pause_seconds: float
    """Seconds until the API server accepts a request; 0 if it does."""
    last_written_revision: int
    """The highest revision that an acknowledged write reported, and that the watch is expected to reach."""
    evaluations: int
    evaluation_seconds: float
    """The total time of all jobs."""
    slow_evaluations: int
    """How many were slow enough to start a cooldown."""
    idle_walks: int
    """How many jobs a memo answered."""
    missing_reactions: Mapping[tuple[str, str], int]
    """(reader kind, read kind) → how often recorded reads ran an intent that the reaction map did not reach."""
    writes: int
    """Acknowledged writes."""
    drift_repairs: int
    """Repairs of other writers' changes."""
    contentions: int
    """How often a part of an object became contended."""
    pauses: int
    """How often the API server asked for a pause."""


class Live(Protocol):
    """The parts of an engine that answers are read from."""

    @property
    def world(self) -> LiveWorld: ...

    @property
    def planner(self) -> Planner: ...

    @property
    def runner(self) -> Runner: ...

    @property
    def states(self) -> StateTables: ...

    @property
    def jobs(self) -> Jobs: ...

    @property
    def objects(self) -> Objects: ...

    @property
    def reloads(self) -> ReloadRecord: ...

    @property
    def journal(self) -> Journal: ...

    @property
    def names(self) -> Mapping[str, Naming]:
        """Program (``envoy``) → how the names in its statistics and logs map to objects."""
        ...

    @property
    def progress(self) -> Progress: ...
