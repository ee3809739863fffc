"""Stage 2: applies changes of the world and finds the intents that they affect.

State: the world in memory: cache, graph, recorded reads, facts, allocations, settings, reaction map, last good values
and fact cycles. Only ``Service`` changes it; the engine reads it. It awaits nothing. ``coverage.py`` compares a
reaction map with the recorded reads, ``live_world.py`` follows reads back to resources.
"""

from intentc.logic.cache import Held, Pending, State, shown, with_history
from intentc.logic.changes import Affected, Job
from intentc.logic.live_world import LiveWorld
from intentc.logic.service import Service

__all__ = ["Affected", "Held", "Job", "LiveWorld", "Pending", "Service", "State", "shown", "with_history"]
