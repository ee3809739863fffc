"""Who is worked on next, and who can't be worked on now: the keyed job queue and the quarantine (docs/engine.md §11).

It knows neither intents nor objects, only hashable keys, so one implementation serves the job queue (by intent) and
the planning queue (by object). What a job does is the engine's business.
"""

from .backoff import Backoff
from .keyed import Clock, KeyedQueue, Timer
from .quarantine import Quarantine, Quarantined

__all__ = ["Backoff", "Clock", "KeyedQueue", "Quarantine", "Quarantined", "Timer"]
