"""The outcome of one evaluation, and of one run that explains outputs, as values for the engine.

Values only.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple

from intentc.model import Claim, Fact, Key, Name, Problem, Read, Reason


class Status(enum.Enum):
    """DONE: ``claims`` and ``facts`` replace the former ones. WAITING, FAILED, HELD: the former ones stay
    (docs/engine.md §4.2, §7), and the reads are added to the former ones. ON_HOLD: the same, by the intent's own
    decision (docs/engine.md §4.5). DELETED: the intent was deleted; nothing is claimed. ENDING: its
    resource is being deleted, and the run did not complete; ``claims`` replace the former ones, except for finalizers,
    and the facts stay (docs/engine.md §14.1)."""

    DONE = "done"
    WAITING = "waiting"
    FAILED = "failed"
    HELD = "held"
    ON_HOLD = "on_hold"
    DELETED = "deleted"
    ENDING = "ending"


class AllocationRequest(NamedTuple):
    """An allocation that an evaluation requests and that does not exist yet (docs/engine.md §8).

    ``owner``: ``<installation>/<origin uuid>/<purpose>``. ``name``: the origin's fq_name joined by ``:``, for people
    and for the order in which requests are granted."""

    pool: str
    owner: str
    origin: Key
    name: str


class Outcome(NamedTuple):
    """The result of one run. ``reads``: everything that was read until the run ended, absence included.

    ``claims`` and ``facts`` are empty unless ``status`` is DONE; of an intent ON_HOLD, ``claims`` has what it claims of
    status, of one that is ENDING also what it claims of finalizers. ``waiting_for``: the read that wakes a WAITING
    intent, or the object that makes an intent HELD."""

    key: Key
    status: Status
    reads: frozenset[Read]
    claims: tuple[Claim, ...] = ()
    facts: tuple[Fact, ...] = ()
    problems: tuple[Problem, ...] = ()
    requests: tuple[AllocationRequest, ...] = ()
    waiting_for: Read | None = None


class Explained(NamedTuple):
    """A run made to explain the outputs. ``reasons``: object → the author's reasons for it, in order. ``begun``: what
    the run yielded before it ended, complete or not."""

    outcome: Outcome
    reasons: Mapping[Name, tuple[Reason, ...]]
    begun: tuple[Claim, ...]
