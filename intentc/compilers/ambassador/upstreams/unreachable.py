"""That an upstream can't be, or must not be, reached as it is asked for.

Whatever the reason is, the answer is the same: a cluster without endpoints, which answers 503, and a problem on each
resource that leads there. Nothing is ever sent to a second best place.
"""

from __future__ import annotations


class Unreachable(Exception):
    """``reason`` and ``message`` of the problem."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
