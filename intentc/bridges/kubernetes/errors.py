"""The errors of a cluster: what a failed request means for the caller.

Why it exists: callers decide by these classes, and know no exception of the HTTP client. ``cluster`` raises them, and
so do modules that find the same without a request. A body that can't be read is ``wire.Unreadable``.

Declarations only: no state, no I/O.
"""

from __future__ import annotations


class ClusterError(Exception):
    """The cluster answered with an error, or not at all. The message is for people and holds no credentials."""


class ClusterUnavailable(ClusterError):
    """No answer, or one that says "later" (429, 5xx). ``seconds``: the pause that the server asks for, or 0;
    ``is_about_request``: the server failed at what the request says (500), and may answer others. For a write the
    outcome is unknown unless the server answered."""

    def __init__(self, message: str, seconds: float = 0.0, *, is_about_request: bool = False) -> None:
        super().__init__(message)
        self.seconds = seconds
        self.is_about_request = is_about_request


class TooLarge(ClusterUnavailable):
    """An answer has more bytes than we read: ask for less at once."""


class AccessDenied(ClusterError):
    """401 or 403: the credentials are not accepted, or RBAC does not permit it."""


class Unauthenticated(AccessDenied):
    """401: the credentials are not accepted, so the answer says nothing about what we may do."""


class Forbidden(AccessDenied):
    """403: we may not do this, at this place: RBAC does not permit it, or the namespace is about to be deleted."""


class NotServed(ClusterError):
    """404 for a whole kind: the cluster does not have it (yet)."""


class Expired(ClusterError):
    """410: the revision, or the token of a page, is compacted."""


class Rejected(ClusterError):
    """The cluster rejects a request for what it says (4xx). ``status``: of HTTP; ``reason``: Kubernetes' word."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


def shared_pause(error: Exception) -> float | None:
    """The seconds for which an error makes all requests wait at least; None if it concerns one object, or what the
    request says, so that others may succeed."""
    if isinstance(error, ClusterUnavailable):
        return None if error.is_about_request else error.seconds
    return 0.0 if isinstance(error, Unauthenticated) else None
