"""An upstream can't be, or must not be, reached as requested.

Whatever the reason, the result is the same: a cluster without endpoints, which answers 503, and a problem on each
resource that leads there. There is never a second choice.
"""

from __future__ import annotations


class Unreachable(Exception):
    """``reason`` and ``message`` of the problem."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
