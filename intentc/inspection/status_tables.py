"""Reports the tables, counters and rates of a running engine, the largest part of ``/status``.

Three words have distinct meanings: *converged* (nothing left to do for the applied inputs except what is held or
rejected), *healthy* (see ``is_healthy``) and *problems* (what people must change in inputs, whether these are compiled
or held). Bodies of resources never appear here. ``report`` is called every second, so it reads tables and counters
only. ``Rates`` samples the counters once a second: measuring rates in the hot path would cost each evaluation.
``service/compiler_status.py`` adds what people read first.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

from intentc.engine.live import Live
from intentc.engine.permission import OBSERVING, RESTORED
from intentc.engine.state_tables import PAUSED
from intentc.inspection.quarantined import entries, held_count, held_first, quarantine_count
from intentc.model import Key, Name, Problem, verb

_SPAN = 10.0
"""Seconds over which rates are computed."""


class Sample(NamedTuple):
    """The counters at ``at`` (seconds, monotonic)."""

    at: float
    evaluations: int
    writes: int


class Rates:
    """Keeps the samples of the last 10 seconds. ``clock``: monotonic seconds; ``now``: seconds since 1970. Call
    ``look`` every second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, now: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._now = now
        self._samples: deque[Sample] = deque()
        self.away_since: float | None = None
        """Since when (seconds since 1970) the API server can't be reached; None: it can."""
        self.busy_since: float | None = None
        """Since when the engine has not converged; None: it has."""

    def look(self, *, evaluations: int, writes: int, reachable: bool, converged: bool) -> None:
        """Add a sample. ``evaluations``, ``writes``: totals since the start."""
        at = self._clock()
        self._samples.append(Sample(at, evaluations, writes))
        while len(self._samples) > 2 and self._samples[1].at <= at - _SPAN:
            self._samples.popleft()
        self.away_since = None if reachable else self.away_since or self._now()
        self.busy_since = None if converged else self.busy_since or self._now()

    @property
    def busy_seconds(self) -> float:
        """Seconds since the engine last converged; 0 if it has."""
        return max(0.0, self._now() - self.busy_since) if self.busy_since is not None else 0.0

    def rates(self) -> dict[str, float]:
        """Return ``evaluations`` and ``writes`` per second over the last 10 seconds, or since the first sample."""
        if len(self._samples) < 2:
            return {"evaluations": 0.0, "writes": 0.0}
        first, last = self._samples[0], self._samples[-1]
        seconds = last.at - first.at
        return {
            "evaluations": round((last.evaluations - first.evaluations) / seconds, 1),
            "writes": round((last.writes - first.writes) / seconds, 1),
        }


T = TypeVar("T", Key, Name, Problem)
_LISTED = 100
_QUARANTINED = 1000
"""Entries shown of each list, the oldest first; counts are always complete."""


def report(live: Live, *, converged: bool) -> dict[str, Any]:
    """Keys: ``converged``, ``healthy``, ``applied_revision``, ``queue`` {jobs, objects, in_flight}, counts and the
    first entries of ``held``, ``waiting``, ``rejected``, ``delayed``, ``withheld_deletes``, ``problems``, and counters.
    """
    states, evaluator, permission, unreadable = live.states, live.evaluator, live.permission, live.world.held
    guarded = live.planner.guard.withheld
    held, withheld = held_count(live.world, live.states), sum(map(len, guarded.values()))
    # The problem counts do not include resources that can't be read.
    problems = len(states.problem_counts) + len(unreadable)
    return {
        "converged": converged,
        "healthy": is_healthy(live),
        "observing": OBSERVING in permission.withheld_for,
        "writing": {"permitted": permission.granted, "withheld": dict(permission.withheld_for)},
        "first_pass_complete": live.first_pass_complete,
        "applied_revision": live.world.revision,
        "queue": {
            "jobs": live.jobs.pending(),
            "objects": live.objects.pending(),
            "in_flight": live.writes.loop.in_flight,
        },
        "counts": {
            "evaluated": len(states.evaluated),
            "held": held,
            "waiting": len(states.waiting),
            "rejected": len(states.rejected),
            "delayed": len(states.delayed),
            "contended": len(states.contended),
            "paused": len(states.left_alone) + sum(PAUSED in stops for stops in states.stopped.values()),
            "dropped": len(states.dropped),
            "withheld_deletes": withheld,
            "problems": problems,
            "planned": len(states.planned),
            "quarantined": quarantine_count(live),
        },
        "held": list(map(str, held_first(live.world, live.states, _LISTED))),
        "waiting": [{"intent": str(key), "for": " ".join(states.waiting[key])} for key in _first(states.waiting)],
        "rejected": list(map(str, _first(states.rejected))),
        "delayed": list(map(str, _first(states.delayed))),
        "withheld_deletes": list(map(str, _first(chain.from_iterable(map(guarded.__getitem__, sorted(guarded)))))),
        "quarantine": entries(live, 0, _QUARANTINED),
        "planned": [
            {"object": str(name), "writes": [verb(operation) for operation in states.planned[name]]}
            for name in _first(states.planned)
        ],
        "problems": [problem.shown() for problem in _first(chain(states.problem_counts, unreadable.values()))],
        "counters": {
            "evaluations": evaluator.runs,
            "evaluation_seconds": round(evaluator.seconds, 6),
            "slow_evaluations": evaluator.slow_runs,
            "idle_walks": evaluator.idle_walks,
            "missing_reactions": {
                f"{reader} <- {read}": count for (reader, read), count in sorted(evaluator.missing_reactions.items())
            },
            "writes": live.sender.written,
            "drift_repairs": live.drift.repairs,
            "contentions": live.drift.contentions,
            "pauses": live.throttle.pauses,
        },
    }


def is_healthy(live: Live) -> bool:
    """Nothing is held, rejected, contended or deferred, no mass deletion waits for approval, and no restored store is
    being examined. Problems of inputs that are compiled anyway are counted separately."""
    states = live.states
    return not (
        held_count(live.world, live.states)
        or states.rejected
        or states.delayed
        or any(live.planner.guard.withheld.values())
        or states.contended
        or states.rejected_requests
        or RESTORED in live.permission.withheld_for
    )


def _first(listed: Iterable[T]) -> list[T]:
    """The entries listed longest, sorted: sorting all of them takes too long if there are many."""
    return sorted(islice(listed, _LISTED))
