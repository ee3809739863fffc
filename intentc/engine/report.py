"""Reports the state of a running engine: the JSON of ``/status``.

Three words have distinct meanings: *converged* (nothing left to do for the applied inputs except what is held or
rejected), *healthy* (nothing held, rejected or deferred, no delete withheld) and *problems* (what people must change in
inputs, whether these are compiled or held). Bodies of resources never appear here.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from typing import Any, TypeVar

import msgspec

from ..model import Key, Name, Problem, verb
from .evaluator import Evaluator
from .intent_states import PAUSED
from .orphan_collector import OrphanCollector
from .parts import Parts
from .permission import OBSERVING, RESTORED
from .quarantined import held_count, held_first, quarantine, quarantine_count
from .reconciler import Reconciler

T = TypeVar("T", Key, Name, Problem)
_LISTED = 100
_QUARANTINED = 1000
"""Entries shown of each list, the oldest first; counts are always complete."""


def report(
    parts: Parts, orphan_collector: OrphanCollector, evaluator: Evaluator, reconciler: Reconciler, *, converged: bool
) -> dict[str, Any]:
    """Keys: ``converged``, ``healthy``, ``applied_revision``, ``queue`` {jobs, objects, in_flight}, counts and the
    first entries of ``held``, ``waiting``, ``refused``, ``delayed``, ``withheld_deletes``, ``problems``, and counters.
    """
    states, unreadable = parts.states, parts.logic.held
    guarded = parts.planner.guard.withheld
    held, withheld = held_count(parts), sum(map(len, guarded.values()))
    # The problem counts do not include resources that can't be read.
    problems = len(states.problem_counts) + len(unreadable)
    return {
        "converged": converged,
        "healthy": is_healthy(parts),
        "observing": OBSERVING in parts.permission.reasons,
        "writing": {"permitted": parts.permission.granted, "withheld": dict(parts.permission.reasons)},
        "first_pass_complete": orphan_collector.complete,
        "applied_revision": parts.logic.revision,
        "queue": {
            "jobs": parts.jobs.pending(),
            "objects": parts.objects.pending(),
            "in_flight": reconciler.in_flight,
        },
        "counts": {
            "evaluated": len(states.evaluated),
            "held": held,
            "waiting": len(states.waiting),
            "refused": len(states.refused),
            "delayed": len(states.delayed),
            "contended": len(states.contended),
            "paused": len(states.left_alone) + sum(PAUSED in stops for stops in states.stopped.values()),
            "dropped": len(states.dropped),
            "withheld_deletes": withheld,
            "problems": problems,
            "planned": len(states.planned),
            "quarantined": quarantine_count(parts),
        },
        "held": list(map(str, held_first(parts, _LISTED))),
        "waiting": [{"intent": str(key), "for": " ".join(states.waiting[key])} for key in _first(states.waiting)],
        "refused": list(map(str, _first(states.refused))),
        "delayed": list(map(str, _first(states.delayed))),
        "withheld_deletes": list(map(str, _first(chain.from_iterable(map(guarded.__getitem__, sorted(guarded)))))),
        "quarantine": quarantine(parts, 0, _QUARANTINED),
        "planned": [
            {"object": str(name), "writes": [verb(operation) for operation in states.planned[name]]}
            for name in _first(states.planned)
        ],
        "problems": [
            msgspec.structs.asdict(problem) for problem in _first(chain(states.problem_counts, unreadable.values()))
        ],
        "counters": {
            "evaluations": evaluator.runs,
            "evaluation_seconds": round(evaluator.seconds, 6),
            "slow_evaluations": evaluator.slow_runs,
            "idle_walks": evaluator.idle_walks,
            "walks": evaluator.edges.totals(),
            "missing_reactions": {
                f"{reader} <- {read}": count for (reader, read), count in sorted(evaluator.missing_reactions.items())
            },
            "writes": reconciler.sender.written,
            "drift_repairs": parts.drift.repairs,
            "contentions": parts.drift.contentions,
            "pauses": parts.throttle.pauses,
        },
    }


def is_healthy(parts: Parts) -> bool:
    """Nothing is held, rejected, contended, deferred or withheld. Problems of inputs that are compiled anyway are
    counted separately."""
    states = parts.states
    return not (
        held_count(parts)
        or states.refused
        or states.delayed
        or any(parts.planner.guard.withheld.values())
        or states.contended
        or states.numbers_refused
        or RESTORED in parts.permission.reasons
    )


def _first(listed: Iterable[T]) -> list[T]:
    """The entries listed longest, sorted: sorting all of them takes too long if there are many."""
    return sorted(islice(listed, _LISTED))


def pending(parts: Parts) -> list[dict[str, str]]:
    """The references whose target has not arrived: ``{"holder", "relation", "target"}`` each. Looks at every resource,
    so it is not part of ``report``, which is called all the time."""
    return [
        {"holder": str(key), "relation": link.relation, "target": f"{link.kind} {link.value}"}
        for key, link in parts.logic.cache.graph.pending()
    ]
