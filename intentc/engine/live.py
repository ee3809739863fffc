"""Shows a running engine to code that only reads it. The values are live: read them between two awaits.

Only methods of ``Engine`` change it; code that reads through this module calls none of them, and no method that changes
a table.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Protocol

from ..evaluation import Naming, Runner
from ..journal import Journal
from ..logic import LiveWorld
from ..planning import Planner
from .allocations import Allocations
from .api_throttle import ApiThrottle
from .drift import Drift
from .evaluator import Evaluator
from .jobs import Jobs
from .objects import Objects
from .permission import Permission
from .state_tables import StateTables
from .writes import Sender, Writes


class ReloadRecord:
    """What ``/status`` and ``/reactions`` show of reloads; ``service/reload.py`` reloads, and records it here.

    ``loaded_at``: when the present map was loaded (seconds since 1970); ``reloads``: successful reloads since the
    start; ``failures``: failed ones; ``last_error``: why the last one failed, None if it didn't; ``under_way``: whether
    one is requested or under way."""

    def __init__(self) -> None:
        self.loaded_at = time.time()
        self.reloads = 0
        self.failures = 0
        self.last_error: str | None = None
        self.under_way = False

    def failed(self, error: str) -> None:
        """A reload failed: the former map stays in force."""
        self.last_error = error
        self.failures += 1

    def succeeded(self) -> None:
        """A reload was applied."""
        self.last_error = None
        self.reloads += 1
        self.loaded_at = time.time()

    def status(self) -> dict[str, Any]:
        """For ``/status``: the values above."""
        return {
            "loaded_at": self.loaded_at,
            "reloads": self.reloads,
            "failures": self.failures,
            "last_error": self.last_error,
            "under_way": self.under_way,
        }


class Live(Protocol):
    """The parts of an engine from which answers are computed. ``names``: program (``envoy``) → how the names in its
    statistics and logs map to objects."""

    world: LiveWorld
    planner: Planner
    runner: Runner
    states: StateTables
    jobs: Jobs
    evaluator: Evaluator
    objects: Objects
    writes: Writes
    sender: Sender
    drift: Drift
    allocations: Allocations
    permission: Permission
    throttle: ApiThrottle
    reloads: ReloadRecord
    journal: Journal
    names: Mapping[str, Naming]

    @property
    def first_pass_complete(self) -> bool: ...
