"""Decides which key is worked on next, and keeps keys that can't be: the job queue and the quarantine (docs/engine.md
§11).

It knows neither intents nor objects, only hashable keys, so one implementation serves the job queue (by intent) and the
planning queue (by object). The engine does the work.

Touches: clock; through others: randomness.
"""

from .keyed import Clock, KeyedQueue, Timer
from .quarantine import Quarantine, Quarantined

__all__ = ["Clock", "KeyedQueue", "Quarantine", "Quarantined", "Timer"]
