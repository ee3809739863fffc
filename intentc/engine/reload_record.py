"""Keeps what ``/status`` and ``/reactions`` show of reloads; ``service/reload.py`` reloads, and records it here.

State: the figures below. It decides nothing.
"""

from __future__ import annotations

import time
from typing import Any


class ReloadRecord:
    """``loaded_at``: when the present map was loaded (seconds since 1970); ``reloads``: successful reloads since the
    start; ``failures``: failed ones; ``last_error``: why the last one failed, None if it didn't; ``under_way``: whether
    one is requested or under way."""

    def __init__(self) -> None:
        self.loaded_at = time.time()
        self.reloads = 0
        self.failures = 0
        self.last_error: str | None = None
        self.under_way = False

    def failed(self, error: str) -> None:
        """A reload failed: the former map stays in force."""
        self.last_error = error
        self.failures += 1

    def succeeded(self) -> None:
        """A reload was applied."""
        self.last_error = None
        self.reloads += 1
        self.loaded_at = time.time()

    def status(self) -> dict[str, Any]:
        """For ``/status``: the values above."""
        return {
            "loaded_at": self.loaded_at,
            "reloads": self.reloads,
            "failures": self.failures,
            "last_error": self.last_error,
            "under_way": self.under_way,
        }
