"""The world as last seen: resources by key and name, relations in both directions, indexes, and held resources.

State: all of that, in memory; only ``logic.Service`` changes it.
"""

from intentc.logic.cache.cache import ALL, Cache, Preparation, with_history
from intentc.logic.cache.graph import Pending
from intentc.logic.cache.states import Held, State, Transition, shown

__all__ = ["ALL", "Cache", "Held", "Pending", "Preparation", "State", "Transition", "shown", "with_history"]
