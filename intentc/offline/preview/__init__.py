"""Plans: computes on a copy of the live world what an input would write. It writes nothing to the live world.

``gathering`` reads the live world, ``copying`` copies it into a store in memory, ``trial`` runs the engine and the API
server over that, ``planning`` reports the difference (``report``) without ``provisional`` values; ``saved`` stores a
plan in a file; ``reacting`` compares reaction maps. The commands read the input, carry it out, and show the plan.

State: the copies and their engines, in memory. ``gathering`` reads etcd and the API server, ``saved`` the file of a
saved plan.
"""

from .gathering import Gathered, gather
from .planning import plan
from .report import Plan
from .trial import Trial

__all__ = ["Gathered", "Plan", "Trial", "gather", "plan"]
