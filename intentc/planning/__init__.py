"""Turns claims into the fewest writes (docs/engine.md §5, §6.1, §6.4, §7).

``ClaimBook`` keeps the claims; ``Planner`` merges the claims on one object, compares them with what ``Assumed`` says
exists, and returns a ``Plan``. State, in memory: claims and deferred removals, assumptions, what ``DeleteGuard``
withholds, and which objects lost their parent. Other packages evaluate and write.
"""

from .actual import Actual
from .assumed import Assumed, CacheReader
from .claims import ClaimBook, Item
from .deletion import DeleteGuard
from .desired import Plan
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
    "Item",
    "Ownership",
    "Plan",
    "Planner",
    "merge",
    "ownership_of_object",
]
