"""Interprets an answer of the API server: its revision, or which ``Failure`` it is (docs/engine.md §6.3).
Callers decide what follows from an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

import msgspec

from intentc.reconcile.backoff import retry_after
from intentc.reconcile.failures import Conflict, Failure, Fenced, Rejected, Throttled, UnknownOutcome

REVISION_HEADER = "X-Etcd-Revision"
DEFAULT_PAUSE = 1.0
"""Seconds to pause if the server asks for a pause without a length."""
LONGEST_PAUSE = 300.0
"""Seconds; a longer ``Retry-After`` counts as a mistake."""

_LONGEST_REVISION = 19
"""Digits: etcd counts in 64 bits."""
_NO_ROUTE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED})
_GATEWAY = frozenset({HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT})


class Answer(NamedTuple):
    """One answer. ``headers`` finds names in any case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def message(self) -> str:
        """The server's message (docs/contrail.md B.4: ``{"message": …}``), empty if the body has another form."""
        return self._error_body.message

    @property
    def item(self) -> int | None:
        """The index of the item of a batch that the error concerns; None if the server names none."""
        return self._error_body.item

    @property
    def rejected(self) -> tuple[RejectedItem, ...]:
        """The rejected items of a batch that the server names."""
        return self._error_body.rejected

    @property
    def of_item(self) -> Answer:
        """The error as if the item had been sent alone: without its place in the message."""
        body = self._error_body
        return self._replace(content=msgspec.json.encode({"message": body.detail or body.message}))

    @property
    def _error_body(self) -> _ErrorBody:
        try:
            return msgspec.json.decode(self.content, type=_ErrorBody)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _ErrorBody()

    @property
    def revision(self) -> int | None:
        text = self.headers.get(REVISION_HEADER, "")
        return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_REVISION else None

    @property
    def no_route(self) -> bool:
        """Whether the server seems not to know the path."""
        return self.status in _NO_ROUTE and self.message in {"", _phrase(self.status)}


class RejectedItem(msgspec.Struct, frozen=True):
    """A rejected item of a batch: its index, and why."""

    item: int
    detail: str


class _ErrorBody(msgspec.Struct):
    message: str = ""
    item: int | None = None
    detail: str = ""
    rejected: tuple[RejectedItem, ...] = ()


def failure(answer: Answer, *, relates: bool = False) -> Failure:
    """The error for an answer other than 2xx. ``relates``: the write has references or a parent."""
    status, message = answer.status, answer.message
    match status:
        case 429 | 503:
            return Throttled(retry_after(answer.headers.get("Retry-After", ""), LONGEST_PAUSE, DEFAULT_PAUSE), message)
        case 412 if message.lower().startswith("fence"):
            return Fenced(status, message)
        case 412 if "quota" in message.lower():
            # A project's quota, which Contrail's servers answer with the same status (docs/contrail.md B.4, B.7).
            return Rejected(status, message)
        case 404 | 409 | 412:
            return Conflict(status, message)
        case 400 if relates:
            return Conflict(status, message)
        case _ if status >= 500 and (not message or status in _GATEWAY):
            return UnknownOutcome(f"the server answered {status}" + (f": {message}" if message else ""))
        case _:
            return Rejected(status, message or _phrase(status))


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
