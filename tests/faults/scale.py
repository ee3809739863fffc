"""How much of each fault: a short form in the ordinary test run, the full load by ``make faults``.

One table, so that what a run has shown can be read off one page. A full run takes the figures that the scenarios were
written with (10,000 intents, 200 events a second, 60 seconds); the short form is the same test over less.

How long something takes is demanded of a full run only, on a machine that does nothing else: ``in_full``. The short
form runs beside other tests, prints the same figures, and proves that it happens.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from tests.support.waiting import PATIENCE

FULL = os.environ.get("INTENTC_FAULTS") == "full"


class Scale(NamedTuple):
    """``groups`` and ``networks``: higher-level resources at the start. ``rate``: changes offered a second.
    ``seconds``: for how long the fault or the load lasts. ``patience``: seconds within which all is quiet again."""

    groups: int = 30
    networks: int = 6
    rate: int = 20
    seconds: float = 2.0
    patience: float = PATIENCE


class Puts(NamedTuple):
    """``puts`` in all over ``keys`` keys; ``deletes`` besides; ``dependants`` of one hub."""

    puts: int
    keys: int
    deletes: int = 0
    dependants: int = 0


def in_full(demand: bool) -> bool:
    """Whether a demand on time holds, which only a full run makes."""
    return demand or not FULL


BASE = Scale(groups=8_000, networks=2_000, rate=200, seconds=60.0, patience=300.0) if FULL else Scale()
"""The base load, for scenarios that name no other."""

HALF_BUILT_ORPHANS = 100 if FULL else 20
HALF_BUILT_DRIFTED = 50 if FULL else 10

VISITS = (1, 3, 10) if FULL else (1,)
"""At which visit of its crash point a process is killed."""
CHAINS = 0 if FULL else 2
"""Worlds over which all crash points are spread; 0: a world for each of them."""
RANDOM_KILLS = 50 if FULL else 2
KILL_PATIENCE = PATIENCE
"""Seconds in which a small world is compiled, started anew included."""

WHILE_AWAY = Puts(5_000, 1_000, deletes=500) if FULL else Puts(240, 60, deletes=30)
"""What happens while the compiler is stopped (F03)."""

TRANSACTION_KEYS = 50
FRAGMENTED_BYTES = 2_000_000
"""Of two transactions together: etcd sends more than 1.5 MB in fragments."""

SILENT_SECONDS = 300.0 if FULL else 0.0
"""Beyond the time within which silence must be noticed."""
PUTS_IN_SILENCE = 1_000 if FULL else 100

FLAPPING_SECONDS = 60.0 if FULL else 9.0
FLAPPING_SETTLED_AFTER = 10.0 if FULL else 5.0
"""By then the back-off has come to its longest wait."""
BURST = Puts(50_000, 500, dependants=5_000) if FULL else Puts(500, 50, dependants=60)
BURST_SECONDS = 10.0 if FULL else 0.75
TAKEOVERS = 20 if FULL else 2
"""How often a leader is killed (F21)."""
RELOADS = 50 if FULL else 3
"""Rounds of reaction maps and configurations that are right, wrong, and right again (F23)."""

SOAK = Scale(groups=9_000, networks=1_000, rate=30, patience=300.0) if FULL else Scale()
"""Offered by one person beside etcd, API server and two compilers on two cores."""
SOAK_LEFT = 100 if FULL else 10
"""Groups that are left when the world shrinks."""
SOAK_SECONDS = float(os.environ.get("INTENTC_SOAK_SECONDS", "600" if FULL else "6"))
SOAK_ROUND_SECONDS = 5.0 if FULL else 2.0
"""Of load, with one fault in its midst."""
