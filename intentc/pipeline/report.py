"""What a running engine tells of itself: the JSON of ``/status``.

Two words that must not be mixed: *converged* (nothing left to do for the applied inputs but what is held or refused)
and *healthy* (nothing held, nothing refused, nothing delayed,
no delete withheld). Bodies of resources never appear here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from .collecting import Collecting
from .evaluating import Evaluating
from .parts import Parts
from .reconciling import Reconciling

_LISTED = 100
"""Entries shown of each list; the counts are always whole."""


def report(
    parts: Parts, collecting: Collecting, evaluating: Evaluating, reconciling: Reconciling, *, converged: bool
) -> dict[str, Any]:
    """Keys: ``converged``, ``healthy``, ``applied_revision``, ``queue`` {jobs, objects, in_flight}, counts and the
    first entries of ``held``, ``waiting``, ``refused``, ``delayed``,
    ``withheld_deletes``, ``problems``, and counters."""
    standing = parts.standing
    unreadable = parts.logic.held
    problems = standing.problems(unreadable.values())
    held = sorted({key for key, _ in standing.held.items()} | unreadable.keys())
    refused = sorted(name for name, _ in standing.refused.items())
    delayed = sorted(name for name, _ in standing.delayed.items())
    withheld = sorted(name for names in parts.planner.guard.withheld.values() for name in names)
    return {
        "converged": converged,
        "healthy": not (held or refused or delayed or withheld),
        "observing": parts.observe,
        "first_pass_complete": collecting.complete,
        "applied_revision": parts.logic.revision,
        "queue": {
            "jobs": parts.jobs.pending(),
            "objects": parts.objects.pending(),
            "in_flight": reconciling.in_flight,
        },
        "counts": {
            "evaluated": len(standing.evaluated),
            "held": len(held),
            "waiting": len(standing.waiting),
            "refused": len(refused),
            "delayed": len(delayed),
            "withheld_deletes": len(withheld),
            "problems": len(problems),
            "planned": len(standing.planned),
        },
        "held": [str(key) for key in held[:_LISTED]],
        "waiting": [
            {"intent": str(key), "for": " ".join(read)} for key, read in sorted(standing.waiting.items())[:_LISTED]
        ],
        "refused": [str(name) for name in refused[:_LISTED]],
        "delayed": [str(name) for name in delayed[:_LISTED]],
        "withheld_deletes": [str(name) for name in withheld[:_LISTED]],
        "planned": [
            {"object": str(name), "writes": [type(operation).__name__ for operation in operations]}
            for name, operations in sorted(standing.planned.items())[:_LISTED]
        ],
        "problems": [msgspec.structs.asdict(problem) for problem in problems[:_LISTED]],
        "counters": {
            "evaluations": evaluating.runs,
            "idle_walks": evaluating.idle_walks,
            "missing_reactions": {
                f"{reader} <- {read}": count for (reader, read), count in sorted(evaluating.missing_reactions.items())
            },
            "writes": reconciling.written,
        },
    }


def pending(parts: Parts) -> list[dict[str, str]]:
    """The references whose target has not arrived: ``{"holder", "relation", "target"}`` each. Looks at every resource,
    so it is no part of ``report``, which is asked for all the time."""
    return [
        {"holder": str(key), "relation": link.relation, "target": f"{link.kind} {link.value}"}
        for key, link in parts.logic.cache.graph.pending()
    ]
