"""How much one evaluation may read and yield, and how long it may take, so that one faulty intent can't end the
process.

``context.py`` and ``runner.py`` check while the evaluation runs (docs/engine.md §4.3). ``budget.py`` enforces the time,
in processes that ask for it. The size of a stored resource is limited by ``model/limits.py``.

Values only.
"""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """``objects``: resources and facts yielded by one evaluation (references count only by their bytes). ``size``:
    bytes of JSON of all that it yields. ``reads``: distinct reads. ``thread_seconds``: CPU time of the main thread;
    ``wall_seconds``: wall time while the process isn't stopped. ``reasons``: calls of ``because``."""

    objects: int = 1_000
    size: int = 10_000_000
    reads: int = 100_000
    thread_seconds: float = 1.0
    wall_seconds: float = 5.0
    reasons: int = 20_000

    @property
    def when_asked(self) -> Limits:
        """The limits of a run made only to answer a question, which must not delay other work for long."""
        return self._replace(
            thread_seconds=min(self.thread_seconds, _ASKED_SECONDS), wall_seconds=min(self.wall_seconds, _ASKED_SECONDS)
        )


_ASKED_SECONDS = 0.25


class LimitExceeded(Exception):
    """An evaluation exceeded one of its limits; the message says which."""
