"""Stage 5: what should exist for one intent, as a pure function of recorded reads (docs/engine.md §4).

``intent.py`` and ``context.py`` are what an author's ``evaluate`` sees, ``claiming.py`` what it yields, ``compiler.py``
how a package of intents describes itself, ``overview.py`` what it lets people look at, ``naming.py`` what else that is
called; ``runner.py`` runs one evaluation, ``budget.py`` and ``watchdog.py`` see to it that it ends, ``slot.py`` tells
the next process if it did not. When to evaluate is the logic's and the queue's business, what becomes of claims is
planning's.
"""

from .budget import PROCESS, Budget, BudgetExceeded
from .claiming import refer, shared
from .compiler import Compiler
from .context import Context, Waiting
from .crash_marker import CrashMarker, state_directory
from .intent import Intent, View
from .limits import LimitExceeded, Limits
from .naming import Naming
from .outcome import AllocationRequest, Explained, Outcome, Status
from .overview import Compiled, Overview, Row
from .runner import BUDGET_EXCEEDED, Runner
from .watchdog import Watchdog

__all__ = [
    "BUDGET_EXCEEDED",
    "PROCESS",
    "AllocationRequest",
    "Budget",
    "BudgetExceeded",
    "Compiled",
    "Compiler",
    "Context",
    "CrashMarker",
    "Explained",
    "Intent",
    "LimitExceeded",
    "Limits",
    "Naming",
    "Outcome",
    "Overview",
    "Row",
    "Runner",
    "Status",
    "View",
    "Waiting",
    "Watchdog",
    "refer",
    "shared",
    "state_directory",
]
