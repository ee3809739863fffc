"""What a running engine tells of itself: the JSON of ``/status``.

Two words that must not be mixed: *converged* (nothing left to do for the applied inputs but what is held or refused)
and *healthy* (nothing held, nothing refused, nothing delayed,
no delete withheld). Bodies of resources never appear here.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec

from ..model import Key, Problem, verb
from .collecting import Collecting
from .evaluating import Evaluating
from .levers import DROPPED, PAUSED, SUSPECT, key_of
from .parts import Parts
from .permission import OBSERVING, RESTORED
from .reconciling import Reconciling

_LISTED = 100
_QUARANTINED = 1000
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
    fought = sorted(name for name, _ in standing.fought.items())
    withheld = sorted(name for names in parts.planner.guard.withheld.values() for name in names)
    return {
        "converged": converged,
        "healthy": not (
            held
            or refused
            or delayed
            or withheld
            or fought
            or standing.numbers_refused
            or RESTORED in parts.permission.reasons
        ),
        "observing": OBSERVING in parts.permission.reasons,
        "writing": {"permitted": parts.permission.granted, "withheld": dict(parts.permission.reasons)},
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
            "fought": len(fought),
            "paused": len(standing.left_alone) + sum(PAUSED in stops for stops in standing.stopped.values()),
            "dropped": len(standing.dropped),
            "withheld_deletes": len(withheld),
            "problems": len(problems),
            "planned": len(standing.planned),
            "quarantined": len(held)
            + len(standing.numbers_refused)
            + len(standing.dropped)
            + len(parts.planner.guard.withheld)
            + len(refused)
            + len(fought)
            + len(standing.left_alone),
        },
        "held": [str(key) for key in held[:_LISTED]],
        "waiting": [
            {"intent": str(key), "for": " ".join(standing.waiting[key])}
            for key in heapq.nsmallest(_LISTED, standing.waiting)
        ],
        "refused": [str(name) for name in refused[:_LISTED]],
        "delayed": [str(name) for name in delayed[:_LISTED]],
        "withheld_deletes": [str(name) for name in withheld[:_LISTED]],
        "quarantine": list(islice(quarantine(parts), _QUARANTINED)),
        "planned": [
            {"object": str(name), "writes": [verb(operation) for operation in standing.planned[name]]}
            for name in heapq.nsmallest(_LISTED, standing.planned)
        ],
        "problems": [msgspec.structs.asdict(problem) for problem in problems[:_LISTED]],
        "counters": {
            "evaluations": evaluating.runs,
            "evaluation_seconds": round(evaluating.seconds, 6),
            "dear_evaluations": evaluating.dear_runs,
            "idle_walks": evaluating.idle_walks,
            "walks": evaluating.edges.totals(),
            "missing_reactions": {
                f"{reader} <- {read}": count for (reader, read), count in sorted(evaluating.missing_reactions.items())
            },
            "writes": reconciling.sending.written,
            "drift_repairs": parts.drift.repairs,
            "fights": parts.drift.fights,
            "pauses": parts.gate.pauses,
        },
    }


def quarantine(parts: Parts) -> Iterator[dict[str, Any]]:
    """Whom time alone does not heal, each with its reason: ``{"kind", "name", "uuid", "state", "reason", "message",
    "since", "tries"}``. ``state``: ``unreadable``, ``held``, ``paused``, ``suspect``, ``dropped``, ``refused``,
    ``fought``, ``withheld`` (one entry for all deletes of a kind). ``since``: seconds since 1970, None if that isn't
    kept. ``tries``: failures in a row."""
    standing = parts.standing
    states = {PAUSED: "paused", SUSPECT: "suspect"}
    for key, problem in sorted(parts.logic.held.items()):
        if key not in standing.dropped and key.kind in parts.logic.intent_kinds:
            yield _entry(key, _named(parts, key, problem), "unreadable", None, 0)
    for key, (problem, since) in standing.held.items():
        if key not in parts.logic.held:
            state = states.get(problem.reason, "held")
            yield _entry(key, _named(parts, key, problem), state, since, parts.jobs.failures(key))
    for key, (problem, since) in standing.numbers_refused.items():
        yield _entry(key, problem, "refused", since, 0)
    for key in sorted(standing.dropped):
        name = parts.logic.name_of(key)
        yield _entry(key, Problem(key.kind, name, DROPPED, "given up until its resource changes"), "dropped", None, 0)
    for kind, names in sorted(parts.planner.guard.withheld.items()):
        message = f"{len(names)} objects would be deleted at once; if that is meant: `intentc allow-deletes {kind}`"
        yield _entry(
            Key(kind, ""), Problem(kind, f"({len(names)} objects)", "DeletesHeld", message), "withheld", None, 0
        )
    for state, table in (("refused", standing.refused), ("fought", standing.fought), ("paused", standing.left_alone)):
        for object_name, (problem, since) in table.items():
            key = key_of(parts, object_name)
            yield _entry(key, problem, state, since, parts.objects.failures(object_name))


def _named(parts: Parts, key: Key, problem: Problem) -> Problem:
    """The problem under the name by which people know the resource, if there is one."""
    return msgspec.structs.replace(problem, name=parts.logic.name_of(key))


def _entry(key: Key, problem: Problem, state: str, since: float | None, tries: int) -> dict[str, Any]:
    return {
        "kind": key.kind,
        "name": problem.name,
        "uuid": key.uuid,
        "state": state,
        "reason": problem.reason,
        "message": problem.message,
        "since": since,
        "tries": tries,
    }


def pending(parts: Parts) -> list[dict[str, str]]:
    """The references whose target has not arrived: ``{"holder", "relation", "target"}`` each. Looks at every resource,
    so it is no part of ``report``, which is asked for all the time."""
    return [
        {"holder": str(key), "relation": link.relation, "target": f"{link.kind} {link.value}"}
        for key, link in parts.logic.cache.graph.pending()
    ]
