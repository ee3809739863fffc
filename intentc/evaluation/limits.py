"""How much one evaluation may read and yield, so that one wrong intent can't take the process with it.

Counted as it comes (docs/engine.md §4.3). The budget of time, which cuts off an evaluation that doesn't end, is kept by
``budget.py``, in processes that ask for it.
"""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """``objects``: resources and facts yielded by one evaluation (references count by their bytes alone). ``size``:
    bytes of JSON of all that it yields. ``reads``: distinct reads. ``thread_seconds``: CPU time of the main thread;
    ``wall_seconds``: time as it passes for a process that isn't stopped. ``reasons``: what ``because`` is told."""

    objects: int = 1_000
    size: int = 10_000_000
    reads: int = 100_000
    thread_seconds: float = 1.0
    wall_seconds: float = 5.0
    reasons: int = 20_000

    @property
    def when_asked(self) -> Limits:
        """Of a run that is made only because somebody asks: nobody's work may wait long for an answer."""
        return self._replace(
            thread_seconds=min(self.thread_seconds, _ASKED_SECONDS), wall_seconds=min(self.wall_seconds, _ASKED_SECONDS)
        )


_ASKED_SECONDS = 0.25


class LimitExceeded(Exception):
    """An evaluation went past one of its limits; the message says which."""
