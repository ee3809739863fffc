"""Stage 5: computes what should exist for one intent, as a pure function of recorded reads (docs/engine.md §4).

An author's ``evaluate`` sees ``intent.py`` and ``context.py``, and yields facts and the claims that ``intent.py`` and
``status.py`` make. ``compiler.py`` declares a package of intents, with its views, other names of its objects, and
remarks. ``runner.py`` runs one evaluation, ``conversion.py`` checks what it yields, ``visibility.py`` what it may read,
``budget.py`` bounds its time, and ``crash_marker.py`` shows the next process which evaluation was under way.
"""

from . import status
from .author_lines import author_trace
from .budget import PROCESS, Budget, BudgetExceeded, LimitExceeded, Limits, Watchdog
from .compiler import Compiled, Compiler, Naming, Overview, Remark, Row
from .context import AllocationRequest, Context, Waiting
from .crash_marker import CrashMarker, state_directory
from .intent import Intent, View, assign, drop_references, finalizer, keep_references, refer, shared
from .runner import BUDGET_EXCEEDED, ON_HOLD, Explained, Outcome, Runner, Status

__all__ = [
    "BUDGET_EXCEEDED",
    "ON_HOLD",
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
    "Remark",
    "Row",
    "Runner",
    "Status",
    "View",
    "Waiting",
    "Watchdog",
    "assign",
    "author_trace",
    "drop_references",
    "finalizer",
    "keep_references",
    "refer",
    "shared",
    "state_directory",
    "status",
]
