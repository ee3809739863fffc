"""Shows an engine as a whole: what is left to do, what may be done, and the counters since the start.

It reads the steps' counters and queues, live, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...model import Name
from ..allocations import Allocations
from ..api_throttle import ApiThrottle
from ..drift import Drift
from ..edges import Edge, Figures
from ..evaluator import Evaluator
from ..object_queue import ObjectQueue
from ..orphan_collector import OrphanCollector
from ..permission import Permission
from ..reconciler import Reconciler
from ..reload_record import ReloadRecord
from ..scheduler import Scheduler
from ..sender import Sender


class Progress:
    """Numbers and flags. ``Engine`` has ``quiet`` and ``converged``, which combine them."""

    def __init__(
        self,
        *,
        scheduler: Scheduler,
        evaluator: Evaluator,
        objects: ObjectQueue,
        reconciler: Reconciler,
        sender: Sender,
        allocations: Allocations,
        orphan_collector: OrphanCollector,
        permission: Permission,
        throttle: ApiThrottle[Name],
        drift: Drift,
        reloads: ReloadRecord,
    ) -> None:
        self._scheduler = scheduler
        self._evaluator = evaluator
        self._objects = objects
        self._reconciler = reconciler
        self._sender = sender
        self._allocations = allocations
        self._orphan_collector = orphan_collector
        self._permission = permission
        self._throttle = throttle
        self._drift = drift
        self.reloads = reloads
        """What was reloaded, and what failed."""

    @property
    def first_pass_complete(self) -> bool:
        """Whether everything of a listing was evaluated once."""
        return self._orphan_collector.complete

    @property
    def jobs(self) -> int:
        """How many intents are to be evaluated or are being evaluated."""
        return self._scheduler.pending

    @property
    def jobs_idle(self) -> bool:
        """Whether there are none; those in a back-off don't count."""
        return self._scheduler.idle

    @property
    def oldest_job_seconds(self) -> float:
        """Seconds that the oldest job has waited for a worker; 0 if none waits."""
        return self._scheduler.oldest_seconds

    @property
    def cooling_down(self) -> int:
        """How many expensive intents have a new job during their cooldown."""
        return len(self._evaluator.cooling_down)

    @property
    def objects(self) -> int:
        """How many objects are to be planned, or are being planned or written."""
        return self._objects.pending

    @property
    def queues_settled(self) -> bool:
        """Whether nothing is in a queue, or in a back-off."""
        return self._scheduler.settled and self._objects.settled

    @property
    def in_flight(self) -> int:
        """The number of objects whose writes are under way."""
        return self._reconciler.in_flight

    @property
    def requested_allocations(self) -> int:
        """The number of open requests for allocations."""
        return self._allocations.requested

    @property
    def allocations_idle(self) -> bool:
        """Whether no request is queued or under way; those in back-off don't count."""
        return self._allocations.idle

    @property
    def allocations_settled(self) -> bool:
        """Whether none is in a back-off either."""
        return self._allocations.settled

    @property
    def may_write(self) -> bool:
        """Whether a write may begin right now."""
        return self._permission.granted

    @property
    def withheld(self) -> Mapping[str, str]:
        """Why writes are withheld: reason → message."""
        return self._permission.withheld_for

    @property
    def reachable(self) -> bool:
        """Whether the API server answered the last request."""
        return self._throttle.reachable

    @property
    def pause_seconds(self) -> float:
        """Seconds until the API server accepts a request; 0 if it does."""
        return self._throttle.closed_for

    @property
    def last_written_revision(self) -> int:
        """The highest revision that an acknowledged write reported, and that the watch is expected to reach."""
        return self._sender.last_revision

    @property
    def evaluations(self) -> int:
        """Evaluations since the start."""
        return self._evaluator.runs

    @property
    def evaluation_seconds(self) -> float:
        """The total time of all jobs."""
        return self._evaluator.seconds

    @property
    def slow_evaluations(self) -> int:
        """How many were slow enough to start a cooldown."""
        return self._evaluator.slow_runs

    @property
    def idle_walks(self) -> int:
        """How many jobs a memo answered."""
        return self._evaluator.idle_walks

    @property
    def missing_reactions(self) -> Mapping[tuple[str, str], int]:
        """(reader kind, read kind) → how often recorded reads ran an intent that the reaction map did not reach."""
        return self._evaluator.missing_reactions

    def walk_totals(self) -> dict[str, int]:
        """The results of all walks over the reaction map."""
        return self._evaluator.edges.totals()

    def figures_of(self, edge: Edge) -> Figures:
        """The counts of one edge of the reaction map."""
        return self._evaluator.edges.of(edge)

    @property
    def edges_since(self) -> float:
        """Since when edges are counted (seconds since 1970)."""
        return self._evaluator.edges.since

    @property
    def writes(self) -> int:
        """Acknowledged writes since the start."""
        return self._sender.written

    @property
    def drift_repairs(self) -> int:
        """Repairs of other writers' changes since the start."""
        return self._drift.repairs

    @property
    def contentions(self) -> int:
        """How often a part of an object became contended."""
        return self._drift.contentions

    @property
    def pauses(self) -> int:
        """How often the API server asked for a pause."""
        return self._throttle.pauses
