"""Defines the phases of an engine: what may begin in each, and what leads from one to the next.

One table (``TRANSITIONS``) decides; docs/engine.md prints it. Two conditions are not phases, since they change at any
time: whether writes are permitted (``permission.py``), and whether the API server may be asked (``api_throttle.py``).

State: the phase, how many passes were made, and how many jobs have ended since inputs changed.
"""

from __future__ import annotations

import math
from enum import Enum
from itertools import groupby


class Phase(Enum):
    """Evaluations may begin in each phase except the first; ``MAY_BEGIN`` says what else may begin."""

    LISTING = "listing"
    EVALUATING_ALL = "evaluating all"
    EVALUATING = "evaluating"
    PLANNING = "planning"
    PLANNING_MEANWHILE = "planning meanwhile"


class Happened(Enum):
    """What the engine reports."""

    LISTED = "a listing is applied"
    FREEING_WAITS = "a value to be freed waits for a pass"
    INPUTS = "inputs have changed, and jobs are queued"
    JOBS_DONE = "no job is left"
    ALL_EVALUATED = "no job is left, nor waits for a cooldown"
    BURST_OVER = "1,000 jobs are done since inputs changed"


MAY_BEGIN = {
    Phase.LISTING: "nothing",
    Phase.EVALUATING_ALL: "evaluations",
    Phase.EVALUATING: "evaluations",
    Phase.PLANNING: "plans, writes, requests for allocations; evaluations that are left over or have another cause",
    Phase.PLANNING_MEANWHILE: "as in *planning*",
}
TRANSITIONS = {
    (Phase.LISTING, Happened.LISTED): Phase.EVALUATING_ALL,
    (Phase.EVALUATING_ALL, Happened.ALL_EVALUATED): Phase.PLANNING,
    (Phase.EVALUATING, Happened.LISTED): Phase.EVALUATING_ALL,
    (Phase.EVALUATING, Happened.FREEING_WAITS): Phase.EVALUATING_ALL,
    (Phase.EVALUATING, Happened.JOBS_DONE): Phase.PLANNING,
    (Phase.EVALUATING, Happened.ALL_EVALUATED): Phase.PLANNING,
    (Phase.EVALUATING, Happened.BURST_OVER): Phase.PLANNING,
    (Phase.PLANNING, Happened.LISTED): Phase.PLANNING_MEANWHILE,
    (Phase.PLANNING, Happened.FREEING_WAITS): Phase.PLANNING_MEANWHILE,
    (Phase.PLANNING, Happened.INPUTS): Phase.EVALUATING,
    (Phase.PLANNING_MEANWHILE, Happened.INPUTS): Phase.EVALUATING_ALL,
    (Phase.PLANNING_MEANWHILE, Happened.ALL_EVALUATED): Phase.PLANNING,
}
"""(phase, what happened) → the next phase. Anything else leaves the phase as it is."""
_BEFORE_A_PASS = frozenset({Phase.LISTING, Phase.EVALUATING_ALL, Phase.PLANNING_MEANWHILE})
_MAY_PLAN = frozenset({Phase.PLANNING, Phase.PLANNING_MEANWHILE})
_MAX_BURST = 1000
"""Jobs in a row after which writes get a turn although more jobs wait."""


class Phases:
    """The phase of one engine. A pass is made when ``PLANNING`` follows a phase in which one is due."""

    def __init__(self) -> None:
        self.passes = 0
        self._burst = 0
        self.enter(Phase.LISTING)

    def enter(self, phase: Phase) -> None:
        """Be in this phase from now on."""
        self.phase = phase
        # Asked several times for each job and write, and an enumeration's member is slow to look up in a set.
        self.pass_is_due = phase in _BEFORE_A_PASS
        """Whether a pass is made once everything is evaluated."""
        self.may_plan = phase in _MAY_PLAN
        """Whether plans, writes and requests for allocations may begin."""

    def gate(self) -> float:
        """Seconds until plans may begin: 0, or infinity while that is unknown."""
        return 0.0 if self.may_plan else math.inf

    def happened(self, what: Happened) -> bool:
        """Note what has happened. True if a pass is to be made now."""
        if what is Happened.INPUTS:
            self._burst = 0
        after = TRANSITIONS.get((self.phase, what))
        if after is None:
            return False
        passes = self.pass_is_due and after is Phase.PLANNING
        self.enter(after)
        self.passes += passes
        return passes

    def job_ended(self) -> bool:
        """Count a job. True if writes get a turn although more jobs wait."""
        self._burst += 1
        return self._burst >= _MAX_BURST


def table() -> str:
    """The transitions as a table in Markdown."""
    lines = ["| phase | what may begin | what happens | next phase |", "|---|---|---|---|"]
    for phase, transitions in groupby(TRANSITIONS.items(), key=lambda one: one[0][0]):
        shown = f"*{phase.value}*", MAY_BEGIN[phase]
        for (_, what), after in transitions:
            lines.append(f"| {shown[0]} | {shown[1]} | {what.value} | *{after.value}* |")
            shown = "", ""
    return "\n".join(lines)
