"""Stage 5: what should exist for one intent, as a pure function of recorded reads (engine.md §4).

``intent.py`` and ``context.py`` are what an author's ``evaluate`` sees, ``claiming.py`` what it yields, ``compiler.py``
how a package of intents describes itself; ``runner.py`` runs one evaluation. When to evaluate is the logic's and the
queue's business, what becomes of claims is planning's.
"""

from .claiming import refer, shared
from .compiler import Compiler
from .context import Context, Waiting
from .intent import Intent, View
from .limits import LimitExceeded, Limits
from .outcome import Outcome, Status, Wish
from .runner import Runner

__all__ = [
    "Compiler",
    "Context",
    "Intent",
    "LimitExceeded",
    "Limits",
    "Outcome",
    "Runner",
    "Status",
    "View",
    "Waiting",
    "Wish",
    "refer",
    "shared",
]
