"""The failures of a cluster that ``reconcile.failures`` does not name, and how long a failure makes all requests wait.

A body that can't be read is ``wire.Unreadable``.
"""

from __future__ import annotations

from intentc.reconcile.failures import Failure, Unavailable


class TooLarge(Unavailable):
    """An answer has more bytes than we read: ask for less at once."""


class NotServed(Failure):
    """404 for a whole kind: the cluster does not have it (yet)."""


def shared_pause(error: Exception) -> float | None:
    """The seconds for which an error makes all requests wait at least; None if it concerns one object, or what the
    request says, so that others may succeed."""
    return error.seconds if isinstance(error, Failure) and error.concerns_all else None
