"""The world as last seen: resources by key and name, relations in both directions, indexes, and held resources.

State: all of that, in memory; only ``logic.Service`` changes it.
"""

from .cache import ALL, Cache, Preparation, with_history
from .graph import Pending
from .states import Held, State, Transition, shown

__all__ = ["ALL", "Cache", "Held", "Pending", "Preparation", "State", "Transition", "shown", "with_history"]
