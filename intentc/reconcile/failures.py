"""Defines the failures of calls to other systems: one vocabulary for etcd, API servers, Kubernetes and Azure.

The code that talks to a system raises these, or its own subclasses of them, and never an exception of its client
library. Callers decide by the class; ``loop`` decides by the attributes what waits, and for how long. The message is
for people, and holds no credentials.
"""

from __future__ import annotations

from typing import ClassVar

from .backoff import Backoff


class Failure(Exception):
    """A call failed. The subclass says what is known.

    ``concerns_all``: other calls to this system would fail as well now, so all keys wait; else the key alone does.
    ``seconds``: the pause that the system asks for, 0 if none. ``backoff``: the back-off of the key; None for that of
    its loop.
    """

    concerns_all: bool = False
    seconds: float = 0.0
    backoff: ClassVar[Backoff | None] = None


class Unavailable(Failure):
    """No connection, no answer, or no usable one. Whether a write was made is known only where the call says so.

    ``concerns_all``: false if the system failed at what this request says, and may answer others.
    """

    concerns_all = True

    def __init__(self, message: str = "", seconds: float = 0.0, *, concerns_all: bool = True) -> None:
        super().__init__(message)
        self.seconds = seconds
        self.concerns_all = concerns_all


class Untrusted(Unavailable):
    """One side rejects the other's certificate: nothing was sent. The message names the setting to check."""


class CertificateExpired(Untrusted):
    """The certificate of one side has expired: renew it."""


class Throttled(Unavailable):
    """The system asks for a pause of ``seconds``: nothing was written."""

    def __init__(self, seconds: float, message: str = "") -> None:
        super().__init__(f"asks for a pause of {seconds:g} s" + (f": {message}" if message else ""), seconds)


class Denied(Failure):
    """The user or its roles don't permit this call. Others may be permitted."""


class Unauthenticated(Denied):
    """The credentials are not accepted, or can't be had, so nothing is known about what is permitted."""

    concerns_all = True


class Expired(Failure):
    """What the call names has ended: a revision is compacted, or a lease or page token has expired."""


class UnknownOutcome(Failure):
    """The write may or may not have happened. Read back; never repeat it blindly."""


class _Answered(Failure):
    """``status``: the HTTP status. ``message``: the system's message. ``reason``: its word for the failure, such as
    ``NotFound``."""

    def __init__(self, status: int, message: str, reason: str = "") -> None:
        words = f"{message} ({status})" if reason else f"{status}: {message}" if message else str(status)
        super().__init__(words)
        self.status = status
        self.message = message
        self.reason = reason


class Conflict(_Answered):
    """Nothing was written, since the object, or one that it refers to, is not as the call assumes. Read back first."""


class Rejected(_Answered):
    """Nothing was written, and the same call would be rejected again."""


class Fenced(_Answered):
    """Nothing was written: another process leads. Stop writing."""

    concerns_all = True
