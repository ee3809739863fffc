"""Writes through the API server while this process may write, and waits until etcd shows each result.

Many writes are under way at once and share requests, but a key has one at a time, and is looked at again once etcd has
shown its result. A write that fails is tried again, with a back-off of its own. All wait only while the server is away,
or asks for a pause (``reconcile.Loop``).
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, NamedTuple, TypeVar

from intentc.reconcile import Loop, Result, open_while
from intentc.reconcile.backoff import Backoff
from intentc.reconcile.failures import Fenced
from intentc.writing import Written
from intentc.writing.http import MirrorService

_UNDER_WAY = 400
"""Writes at once: four full requests."""
_AGAIN = Backoff(0.2, 30.0)

K = TypeVar("K", bound=Hashable)


class FencedService(NamedTuple):
    """``fence``: the present one, None while this process may not write; ``fenced`` is called with one that the API
    server rejects."""

    writer: MirrorService
    fence: Callable[[], str | None]
    fenced: Callable[[str], None]


class FencedWriter(ABC, Generic[K]):
    """``look`` is called with a key whose write etcd has shown; None: it is begun again."""

    def __init__(self, service: FencedService, look: Callable[[K], None] | None = None) -> None:
        self.counters: Counter[str] = Counter()
        self.last_error = ""
        self._writer, self._fence, self._fenced = service
        self._awaited: dict[K, int] = {}
        """The writes that etcd has not shown yet, with their revisions."""
        self._applied = 0
        """Up to which revision etcd is known."""
        self.loop: Loop[K] = Loop(
            self._begin,
            workers=_UNDER_WAY,
            gate=open_while(lambda: service.fence() is not None),
            backoff=_AGAIN,
            on_failure=self._note_failure,
        )
        self._look = look or self.loop.add

    @abstractmethod
    def _begin(self, key: K) -> Result | Coroutine[Any, Any, Result]:
        """Begin the write of a key, so that writes that begin together share requests."""

    @abstractmethod
    def _note_failure(self, key: K, error: Exception) -> None:
        """Note why a write failed."""

    @property
    def idle(self) -> bool:
        """Whether nothing is to be written, and etcd has shown all that was."""
        return self.loop.idle and not self._awaited

    def applied(self, revision: int) -> None:
        """Note that everything in etcd up to ``revision`` is known."""
        self._applied = revision
        for key in [key for key, awaited in self._awaited.items() if awaited <= revision]:
            del self._awaited[key]
            self._look(key)

    async def _written(self, key: K, future: asyncio.Future[Written], fence: str) -> None:
        """Await the answer to a write. Raises ``Failure``."""
        try:
            written = await future
        except Fenced:
            self._fenced(fence)
            raise
        self.last_error = ""
        if written.revision is not None and written.revision > self._applied:
            self._awaited[key] = written.revision
        else:
            self._look(key)
