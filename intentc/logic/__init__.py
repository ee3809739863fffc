"""Stage 2: applies changes of the world and finds the intents that they affect.

Others see the states that its cache holds as values; the cache itself stays inside.
"""

from .cache import Held, Pending, State, shown, with_history
from .concerned import Concerned, Job
from .service import Service

__all__ = ["Concerned", "Held", "Job", "Pending", "Service", "State", "shown", "with_history"]
