"""Defines the errors of the API server, how each API answers them, and how failures of the store become such errors.

Why it exists: rules raise these far below HTTP, and each entry point (HTTP, in process) reports them in its own form.
The message is for people: it names the kind, field or key, and what to do next. ``kubernetes/status_errors.py`` has
errors that only the Kubernetes-compatible API raises.

``within`` and ``of`` add to an error which item and field it is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Self

from intentc.model import Key, Name
from intentc.model.limits import LARGEST_VALUE
from intentc.reconcile.failures import Denied, Failure, Unavailable
from intentc.watch.protocol import Compacted, RequestTooLarge, StoreFull, TooManyOperations

_SHOWN = 200
"""Characters of a client's text that a message repeats."""

_LONGEST = 4_000
"""Characters of a message: it may repeat names and values of any length."""


def shortened(text: str) -> str:
    """``text``, or its beginning: a client's text is not repeated at any length."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_REPLACE = "; send the whole resource to replace it, or delete it"


class Answer(NamedTuple):
    """The answer to an error: ``status`` in the REST API (docs/contrail.md B.4), ``code`` and ``reason`` in the
    Kubernetes-compatible API."""

    status: int
    code: int
    reason: str


class ApiError(Exception):
    """The base class; ``ANSWERS`` has the answers.

    ``key``: the resource that the error concerns, if known; the name of a new one. ``item``: the index of the item of a
    larger request that it concerns; ``detail`` is the message without that place then.
    """

    def __init__(self, message: str, *, key: Key | Name | None = None) -> None:
        message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
        super().__init__(message)
        self.message = message
        self.key = key
        self.item: int | None = None
        self.detail = message
        self.field = ""
        """The field of the resource's stored form that it concerns, if known: ``a.b[0].c``."""
        self.rejected: tuple[tuple[int, str], ...] = ()
        """(item, detail) of all rejected items of a larger request, this one included."""

    @property
    def answer(self) -> Answer:
        """The answer to this error: that of its class, or of the nearest base class in the table."""
        return next(ANSWERS[one] for one in type(self).__mro__ if one in ANSWERS)

    @property
    def status(self) -> int:
        """The HTTP status in the REST API."""
        return self.answer.status

    def within(self, item: int, place: str) -> ApiError:
        """The same error with its place in a larger request. The key is dropped, so that this happens only once."""
        placed = type(self)(f"{place}: {self.message}")
        placed.item, placed.detail = item, self.message
        return placed

    def of(self, field: str) -> Self:
        """The same error, which concerns ``field``."""
        self.field = field
        return self


class BadRequest(ApiError):
    """Invalid argument, bad JSON, unresolved ``to``, failed check."""


class Exhausted(BadRequest):
    """A pool has no number left, or the requested one is taken."""


class Unauthorized(ApiError):
    """The token is missing, unknown or expired."""


class Forbidden(ApiError):
    """The caller may not write a field, or the call needs another role."""


class NotFound(ApiError):
    """There is no such uuid, name or kind."""


class Conflict(ApiError):
    """A uuid or name is a duplicate, a parent or target is missing, or a deleted resource has holders."""


class PreconditionFailed(ApiError):
    """``If-Match`` names another revision, or the fence is an old one (the message starts with "fence" then)."""


class QuotaExceeded(ApiError):
    """The project has as many resources of a kind as its quota allows; the message names the quota."""


class TooLarge(ApiError):
    """The request has more operations than one transaction takes, or too many bytes."""


class TooManyRequests(ApiError):
    """The client exceeds a rate; it may try again after ``Retry-After``."""


class Malformed(ApiError):
    """A stored value can't be read. The message names its key and what to do; ``reason`` only key and cause."""

    def __init__(self, reason: str, *, key: Key | Name | None = None) -> None:
        super().__init__(f"{reason}{_REPLACE}", key=key)
        self.reason = reason

    def within(self, item: int, place: str) -> ApiError:
        placed = Malformed(f"{place}: {self.reason}")
        placed.item, placed.detail = item, self.message
        return placed


class BrokenEntry(ApiError):
    """The value of a key that only API servers write, of the index or of a pool, can't be read."""

    @classmethod
    def at(cls, where: str, reason: str) -> BrokenEntry:
        """The error for the entry at the key ``where``."""
        return cls(f"the API servers' own entry {where} in etcd can't be read: {reason}; restore it, or delete the key")


class Busy(ApiError):
    """The store is unreachable, denies access or is full, or too many writers contend for a key.

    Nothing was written; the client may try again.
    """


class StoreDenied(Busy):
    """etcd rejects this API server's user, its password, or what its roles permit: nothing was written."""


class OutcomeUnknown(ApiError):
    """The store did not answer a write, which may have happened. The client must read back before it repeats it."""


ANSWERS: Mapping[type[ApiError], Answer] = {
    ApiError: Answer(500, 500, "InternalError"),
    BadRequest: Answer(400, 400, "BadRequest"),
    Unauthorized: Answer(401, 401, "Unauthorized"),
    Forbidden: Answer(403, 403, "Forbidden"),
    NotFound: Answer(404, 404, "NotFound"),
    Conflict: Answer(409, 409, "Conflict"),
    PreconditionFailed: Answer(412, 409, "Conflict"),
    QuotaExceeded: Answer(412, 403, "Forbidden"),
    TooLarge: Answer(413, 413, "RequestEntityTooLarge"),
    Malformed: Answer(422, 500, "InternalError"),
    BrokenEntry: Answer(422, 500, "InternalError"),
    TooManyRequests: Answer(429, 429, "TooManyRequests"),
    Busy: Answer(503, 503, "ServiceUnavailable"),
    OutcomeUnknown: Answer(504, 504, "Timeout"),
}
"""The one table of answers. A subclass that it lacks is answered as its base class."""


def from_store(error: Failure, *, writing: bool) -> ApiError:
    """Translate a failure of the store for a client. ``writing``: a transaction may have been committed."""
    if isinstance(error, TooManyOperations):
        return TooLarge(
            f"etcd takes fewer operations in one transaction than intentc.limits.max_txn_ops says: {error}; split the "
            f"request, or start etcd with a larger --max-txn-ops"
        )
    if isinstance(error, RequestTooLarge):
        return TooLarge(
            f"this request is larger than etcd takes (--max-request-bytes, default {LARGEST_VALUE:,} bytes): {error};"
            f" split it"
        )
    if isinstance(error, Compacted):
        return Busy("etcd has compacted the revision that this request reads; ask again")
    if isinstance(error, Unavailable):
        if writing:
            return OutcomeUnknown(f"etcd did not answer the write, its outcome is unknown: {error}")
        return Busy(f"etcd can't be reached: {error}")
    if isinstance(error, Denied):
        return StoreDenied(f"etcd rejects this API server: {error}")
    if isinstance(error, StoreFull):
        # Nothing was written, and a client can only wait.
        return Busy(f"etcd rejects this API server: {error}")
    return ApiError(f"etcd rejects the request: {error}")
