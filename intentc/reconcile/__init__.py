"""Decides which key is worked on next, and keeps keys that can't be: the queue and the quarantine (docs/engine.md §7,
§11).

It knows neither intents nor objects, only hashable keys, so one implementation serves the jobs (by intent), the plans
(by object) and the allocator's requests. The engine does that work; bridges have theirs done by ``KeyedWorker``.
"""

from .keyed import Clock, KeyedQueue, Timer
from .quarantine import Quarantine, Quarantined
from .worker import KeyedWorker

__all__ = ["Clock", "KeyedQueue", "KeyedWorker", "Quarantine", "Quarantined", "Timer"]
