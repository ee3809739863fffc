"""Plans: computes on a copy of the live world what an input would write. It writes nothing to the live world.

``copying`` reads the live world and copies it into a store in memory, ``trial`` runs the engine and the API server over
that, ``planning`` reports the difference (``report``, which also saves it) without ``provisional`` values. The commands
read the input, carry it out, and show the plan.
"""

from intentc.offline.preview.copying import Gathered, gather
from intentc.offline.preview.planning import plan
from intentc.offline.preview.report import Plan
from intentc.offline.preview.trial import Trial

__all__ = ["Gathered", "Plan", "Trial", "gather", "plan"]
