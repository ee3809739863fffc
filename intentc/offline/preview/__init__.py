"""Plans: what carrying something out would write, found out on a copy of the live world. Nothing real is written.

``gathering`` reads the live world, ``copying`` makes it a store in memory, ``trial`` runs the engine and the API server
over that, ``planning`` tells the difference (without what is ``made_up``) as a ``report``; ``saved`` is a
plan in a file, ``reacting`` compares reaction maps. Reading input, carrying it out, and what people see are left to the
commands.
"""

from .gathering import Gathered, gather
from .planning import plan
from .report import Plan
from .trial import Trial

__all__ = ["Gathered", "Plan", "Trial", "gather", "plan"]
