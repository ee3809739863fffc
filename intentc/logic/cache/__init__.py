"""The world as it was last seen: resources by key and name, their relations both ways, indexes, and what is held."""

from .cache import ALL, Cache, Preparation, with_history
from .graph import Pending
from .states import Held, State, Transition, shown

__all__ = ["ALL", "Cache", "Held", "Pending", "Preparation", "State", "Transition", "shown", "with_history"]
