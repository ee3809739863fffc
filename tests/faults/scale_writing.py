"""How much of each scenario on the writing side runs: short by default, the whole with ``INTENTC_FAULTS=full``.

One table, so that it can be read which load a green run stands for.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

FULL = os.environ.get("INTENTC_FAULTS") == "full"


@dataclass(frozen=True)
class WritingScale:
    """``groups``: security groups beside the tenant. ``rate``: changes a second that a person offers, for ``seconds``,
    each a request of its own; the person, the server and the compiler share one core here.
    ``orders`` of ``networks`` × 5 connected resources each. ``latency``, ``pause`` (``Retry-After``), ``outage``:
    seconds. ``drifted``: objects of ours that others edit; half as many are deleted."""

    groups: int
    rate: float
    seconds: float
    orders: int
    networks: int
    latency: float
    pause: int
    outage: float
    drifted: int


SCALE = (
    WritingScale(3_000, 20.0, 60.0, 200, 200, 2.0, 5, 30.0, 100)
    if FULL
    else WritingScale(24, 15.0, 2.5, 2, 6, 0.3, 1, 2.0, 8)
)


def seeded() -> random.Random:
    """Random numbers whose seed is printed (a failing test shows it); ``INTENTC_SEED`` replays it."""
    seed = int(os.environ.get("INTENTC_SEED") or random.SystemRandom().randrange(2**32))
    print(f"INTENTC_SEED={seed}")
    return random.Random(seed)
