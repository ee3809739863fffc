"""The kernel: repeats work by key (docs/engine.md §7, §11).

``loop`` runs ``reconcile(key)`` for the keys of a queue (``keyed``), ``failures`` is the vocabulary of what goes wrong,
``backoff`` says how long to wait, and ``quarantine`` keeps the keys that can't be worked on. It knows neither intents
nor objects, only hashable keys, so one implementation serves the engine and the bridges.
"""

from .keyed import Clock, KeyedQueue, Timer
from .loop import Loop, Pause, RequeueAfter, Result, open_while, persist
from .quarantine import Quarantine, Quarantined

__all__ = [
    "Clock",
    "KeyedQueue",
    "Loop",
    "Pause",
    "Quarantine",
    "Quarantined",
    "RequeueAfter",
    "Result",
    "Timer",
    "open_while",
    "persist",
]
