"""What the API server refuses, each with its HTTP status (docs/contrail.md B.4).

Why it exists: rules raise these far below HTTP, and every way in (HTTP, in process) tells them in its own form. The
message is for people: it names the kind, field or key, and what to do next.
"""

from __future__ import annotations

from typing import ClassVar

from intentc.model import Key, Name
from intentc.model.limits import LARGEST_VALUE
from intentc.watch.protocol import (
    AccessDenied,
    Compacted,
    RequestTooLarge,
    StoreError,
    StoreFull,
    StoreUnavailable,
    TooManyOperations,
)

_SHOWN = 200
"""Characters of a client's text that a message repeats."""

_LONGEST = 4_000
"""Characters of a message: it may repeat names and values of any length."""


def shortened(text: str) -> str:
    """``text``, or its beginning: what a client sent is not sent back at any length."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


_REPLACE = "; send the whole resource to replace it, or delete it"


class ApiError(Exception):
    """The base; ``status`` is the HTTP status. ``key``: the resource that it is about, if a rule knows; the name of one
    that is new. ``item``: the index of the element of a larger request that it is about, and then ``detail`` is the
    message without the place."""

    status: ClassVar[int] = 500

    def __init__(self, message: str, *, key: Key | Name | None = None) -> None:
        message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
        super().__init__(message)
        self.message = message
        self.key = key
        self.item: int | None = None
        self.detail = message
        self.refused: tuple[tuple[int, str], ...] = ()
        """Of a larger request: (item, detail) of everything in it that is refused, this included."""

    def within(self, item: int, place: str) -> ApiError:
        """The same refusal, told with the place in a larger request (once: the key is not carried on)."""
        told = type(self)(f"{place}: {self.message}")
        told.item, told.detail = item, self.message
        return told


class BadRequest(ApiError):
    """Invalid argument, bad JSON, unresolved ``to``, failed check."""

    status = 400


class Exhausted(BadRequest):
    """No number is left in a pool, or the wanted one is taken."""


class Unauthorized(ApiError):
    """No token, or one that is unknown or expired."""

    status = 401


class Forbidden(ApiError):
    """A field that only the server writes, or a call that needs another role."""

    status = 403


class NotFound(ApiError):
    """No such uuid, name or kind."""

    status = 404


class Conflict(ApiError):
    """Duplicate uuid or name, missing parent or target, deletion while others hold it."""

    status = 409


class PreconditionFailed(ApiError):
    """``If-Match`` names another revision, or the fence is an old one (then the message starts with "fence")."""

    status = 412


class TooLarge(ApiError):
    """More operations than one transaction takes, or too many bytes."""

    status = 413


class TooManyRequests(ApiError):
    """A client asks more often than is answered: try again after ``Retry-After``."""

    status = 429


class Malformed(ApiError):
    """A stored value can't be read. The message names its key and what to do; ``reason`` only the key, and why."""

    status = 422

    def __init__(self, reason: str, *, key: Key | Name | None = None) -> None:
        super().__init__(f"{reason}{_REPLACE}", key=key)
        self.reason = reason

    def within(self, item: int, place: str) -> ApiError:
        told = Malformed(f"{place}: {self.reason}")
        told.item, told.detail = item, self.message
        return told


class Busy(ApiError):
    """The store can't be reached, doesn't let us in or is full, or too many writers are after the same key: nothing was
    written, try again."""

    status = 503


class OutcomeUnknown(ApiError):
    """The store did not answer a write: it may or may not have happened. Read back before you repeat it."""

    status = 504


def from_store(error: StoreError, *, writing: bool) -> ApiError:
    """What a failure of the store means to a client; ``writing``: a transaction may have been carried out."""
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
    if isinstance(error, StoreUnavailable):
        if writing:
            return OutcomeUnknown(f"etcd did not answer the write, its outcome is unknown: {error}")
        return Busy(f"etcd can't be reached: {error}")
    if isinstance(error, AccessDenied | StoreFull):
        # Nothing was written, and no client can do anything about it but wait.
        return Busy(f"etcd refuses this API server: {error}")
    return ApiError(f"etcd refuses: {error}")
