"""What one evaluation came to, as a value for the engine to act on."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple

from intentc.model import Claim, Fact, Key, Name, Problem, Read, Reason


class Status(enum.Enum):
    """DONE: ``claims`` and ``facts`` replace the former ones. WAITING, FAILED, HELD: the former ones stay
    (docs/engine.md §4.2, §7), and the reads are added to the former ones. GONE: the intent no longer exists, nothing is
    claimed."""

    DONE = "done"
    WAITING = "waiting"
    FAILED = "failed"
    HELD = "held"
    GONE = "gone"


class AllocationRequest(NamedTuple):
    """A number that an evaluation asks for and the ledger doesn't hold yet (docs/engine.md §8).

    ``owner``: ``<installation>/<origin uuid>/<purpose>``. ``name``: the origin's fq_name joined by ``:``, for people
    and for the order of granting."""

    pool: str
    owner: str
    origin: Key
    name: str


class Outcome(NamedTuple):
    """The result of one run. ``reads`` is always what was read until the run ended, absence included.

    ``claims`` and ``facts`` are empty unless ``status`` is DONE. ``waiting_for``: the read that wakes a WAITING intent,
    or the object that makes an intent HELD."""

    key: Key
    status: Status
    reads: frozenset[Read]
    claims: tuple[Claim, ...] = ()
    facts: tuple[Fact, ...] = ()
    problems: tuple[Problem, ...] = ()
    requests: tuple[AllocationRequest, ...] = ()
    waiting_for: Read | None = None


class Explained(NamedTuple):
    """A run that was made to be told why. ``reasons``: object → what the author told of it, in that order. ``begun``:
    what it had yielded when it ended, be it done or not."""

    outcome: Outcome
    reasons: Mapping[Name, tuple[Reason, ...]]
    begun: tuple[Claim, ...]
