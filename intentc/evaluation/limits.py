"""How much one evaluation may read and yield, so that one wrong intent can't take the process with it.

Counted as it comes (engine.md §4.3). The budget of time, which cuts off an evaluation that doesn't end, is no part of
this.
"""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """``objects``: resources and facts yielded by one evaluation (references count by their bytes alone). ``size``:
    bytes of JSON of all that it yields. ``reads``: distinct reads."""

    objects: int = 1_000
    size: int = 10_000_000
    reads: int = 100_000


class LimitExceeded(Exception):
    """An evaluation went past one of its limits; the message says which."""
