"""From claims to the least writes (docs/engine.md §5, §6.1, §6.4, §7).

``ClaimBook`` keeps who wants what; ``Planner`` merges the claims on one object, compares with what ``Assumed`` says is
there, and gives a ``Plan``. Evaluating and writing are left to others.
"""

from .actual import Actual
from .assumed import Assumed, CacheReader
from .claims import ClaimBook
from .draft import Plan
from .guard import DeleteGuard
from .merge import Desired, merge
from .ownership import Ownership, ownership_of_object
from .planner import Planner

__all__ = [
    "Actual",
    "Assumed",
    "CacheReader",
    "ClaimBook",
    "DeleteGuard",
    "Desired",
    "Ownership",
    "Plan",
    "Planner",
    "merge",
    "ownership_of_object",
]
