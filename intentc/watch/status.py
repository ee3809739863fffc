"""Defines the watch's state and its counters, and logs foreign keys.

Why it exists: a watch that falls behind silently is a fault that stays hidden. The state says whether the watch is
ready, and why not; what the watch does is counted by name. A key of another form is logged once. How far the watch has
come is in ``progress``. The processes that watch show parts of this in their status.

State: the counters, and the foreign keys that were logged; ``source`` and its parts change them.
"""

from __future__ import annotations

import enum
import logging
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

_REMEMBERED_FOREIGN_KEYS = 1_000


class Phase(enum.Enum):
    """What the source is doing."""

    LISTING = "listing"
    WATCHING = "watching"
    DISCONNECTED = "disconnected"


class SourceState(NamedTuple):
    """The phase, since when (Unix time in seconds), and the watch's last error ("" if there was none).
    ``rejection``: why the store rejects our heartbeat, "" if it doesn't; it will reject a leader's writes as well.
    """

    phase: Phase
    since: float
    error: str = ""
    rejection: str = ""

    @property
    def ready(self) -> bool:
        """True while events arrive and the store accepts our writes."""
        return self.phase is Phase.WATCHING and not self.rejection

    @property
    def last_error(self) -> str:
        """The most likely reason for not being ready."""
        return self.rejection or self.error


@dataclass
class SourceCounters:
    """Counters since the start of the process. The dictionaries count by reason, a short text without variables."""

    lists: Counter[str] = field(default_factory=Counter)
    disconnects: Counter[str] = field(default_factory=Counter)
    batches: int = 0
    changes: int = 0
    duplicates: int = 0
    """Batches dropped because their revision was not newer than the last one."""
    foreign_keys: int = 0
    """Different keys under the prefix that are not ``<kind>/<uuid>`` (counted up to the first thousand)."""
    heartbeats_seen: int = 0
    heartbeats_put: int = 0
    heartbeats_failed: int = 0
    relisted_keys: int = 0
    relist_passes: int = 0
    """How often the relist has read the whole world."""
    missed_events: int = 0


class ForeignKeys:
    """Keys of another form under our prefix: logged and counted once each, and ignored."""

    def __init__(self, counters: SourceCounters, logger: logging.Logger) -> None:
        self._counters = counters
        self._logger = logger
        self._seen: set[str] = set()

    def __call__(self, key: str) -> None:
        if key in self._seen or len(self._seen) >= _REMEMBERED_FOREIGN_KEYS:
            return
        self._seen.add(key)
        self._counters.foreign_keys += 1
        self._logger.warning("key %r is not of the form <prefix>/<kind>/<uuid>; it is ignored", key)
