"""Faults of a simulated system's requests: lost, rejected, answered late or not at all, as drawn beforehand.

Values and their effect on one request; who draws them, and what the compiler must make of them, is left to others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Coroutine, Iterable
from enum import Enum
from typing import Any

from intentc.reconcile.failures import Conflict, Rejected, Throttled, Unavailable, UnknownOutcome


class Outcome(Enum):
    """Of one request. Only ``FINE``, ``LOST_ANSWER`` and ``PROXY_ERROR`` get to the server."""

    FINE = "fine"
    UNREACHABLE = "unreachable"
    THROTTLED = "throttled"
    CONFLICT = "conflict"
    REJECTED = "rejected"
    LOST_REQUEST = "lost request"
    LOST_ANSWER = "lost answer"
    PROXY_ERROR = "proxy error"
    """It was carried out, and a proxy says that it was not."""


FAILURES = tuple(outcome for outcome in Outcome if outcome is not Outcome.FINE)


class RequestFaults:
    """What becomes of the next requests, in their order; those after them are fine."""

    def __init__(self) -> None:
        self._coming: deque[Outcome] = deque()
        self.met: list[Outcome] = []
        """The outcomes of all requests so far."""

    def forecast(self, outcomes: Iterable[Outcome]) -> None:
        """These come after those that are to come already."""
        self._coming.extend(outcomes)

    def clear(self) -> None:
        """From now on all is fine."""
        self._coming.clear()

    async def through(self, request: Coroutine[Any, Any, Any]) -> Any:
        """The answer to one request, or the ``Failure`` that it meets."""
        outcome = self._coming.popleft() if self._coming else Outcome.FINE
        self.met.append(outcome)
        match outcome:
            case Outcome.FINE:
                return await request
            case Outcome.LOST_ANSWER:
                await request
                raise UnknownOutcome("the answer was lost, as the test asked for")
            case Outcome.PROXY_ERROR:
                await request
                raise Throttled(0.5, "carried out all the same, as the test asked for")
        request.close()
        raise _FAILURES[outcome]


_FAILURES = {
    Outcome.UNREACHABLE: Unavailable("no connection, as the test asked for"),
    Outcome.THROTTLED: Throttled(0.5, "as the test asked for"),
    Outcome.CONFLICT: Conflict(409, "as the test asked for"),
    Outcome.REJECTED: Rejected(422, "as the test asked for"),
    Outcome.LOST_REQUEST: UnknownOutcome("the request was lost, as the test asked for"),
}
