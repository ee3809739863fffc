"""What a running engine tells of itself: the JSON of ``/status``.

Two words that must not be mixed: *converged* (nothing left to do for the applied inputs) and *healthy* (nothing held,
nothing refused). Bodies of resources never appear here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..engine import Engine

_LISTED = 100
"""Entries shown of each list; the counts are always whole."""


def report(engine: Engine) -> dict[str, Any]:
    """Keys: ``converged``, ``healthy``, ``applied_revision``, ``queue`` {jobs, objects, in_flight}, counts and the
    first entries of ``held``, ``waiting``, ``refused``, ``problems``, ``pending_references``, and counters."""
    parts = engine.parts
    standing = parts.standing
    unreadable = parts.logic.held
    problems = standing.problems(unreadable.values())
    pending = tuple(parts.logic.cache.graph.pending())
    return {
        "converged": engine.quiet and not standing.refused,
        "healthy": not (standing.held or standing.refused or unreadable),
        "observing": parts.observe,
        "first_pass_complete": engine.collecting.complete,
        "applied_revision": parts.logic.revision,
        "queue": {
            "jobs": parts.jobs.pending(),
            "objects": parts.objects.pending(),
            "in_flight": engine.reconciling.in_flight,
        },
        "counts": {
            "evaluated": len(standing.evaluated),
            "held": len(standing.held.keys() | unreadable.keys()),
            "waiting": len(standing.waiting),
            "refused": len(standing.refused),
            "problems": len(problems),
            "pending_references": len(pending),
            "planned": len(standing.planned),
        },
        "held": [str(key) for key in sorted(standing.held.keys() | unreadable.keys())[:_LISTED]],
        "waiting": [
            {"intent": str(key), "for": " ".join(read)} for key, read in sorted(standing.waiting.items())[:_LISTED]
        ],
        "refused": [str(name) for name in sorted(standing.refused)[:_LISTED]],
        "planned": [
            {"object": str(name), "writes": [type(operation).__name__ for operation in operations]}
            for name, operations in sorted(standing.planned.items())[:_LISTED]
        ],
        "problems": [
            {
                "kind": problem.kind,
                "name": problem.name,
                "reason": problem.reason,
                "message": problem.message,
                "source": problem.source,
            }
            for problem in problems[:_LISTED]
        ],
        "pending_references": [f"{key} -> {link.kind} {link.value}" for key, link in pending[:_LISTED]],
        "counters": {
            "evaluations": engine.evaluating.runs,
            "idle_walks": engine.evaluating.idle_walks,
            "missing_reactions": {
                f"{reader} <- {read}": count
                for (reader, read), count in sorted(engine.evaluating.missing_reactions.items())
            },
            "writes": engine.reconciling.written,
        },
    }
