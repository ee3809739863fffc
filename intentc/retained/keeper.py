"""Has the leader store last good values, or facts, in etcd, and remove those that are no longer wanted.

The engine knows what is wanted: its last good values, and the facts of unfinished intents. This is a loop apart from
the event's path, since only the next process needs what is retained.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from intentc.model import HeldFacts, Key, Resource
from intentc.reconcile import Loop, RequeueAfter, Result
from intentc.reconcile.backoff import Backoff

if TYPE_CHECKING:
    from intentc.engine.engine import Engine

T = TypeVar("T", bound=Resource | HeldFacts)

_PERIOD = 1.0
"""Seconds between checks."""
_REJECTED = Backoff(1.0, 300.0)
"""Between attempts at a value that etcd rejects, most likely because of its size."""
ALL = Key("", "")
"""Queued in order to compare all values."""


class Retained(Protocol[T]):
    """Where something is kept for each intent: ``RetainedValues``, ``RetainedFacts``."""

    async def list(self) -> dict[Key, T]: ...

    async def put(self, one: T, /) -> None: ...

    async def remove(self, key: Key) -> None: ...


class Keeper(Generic[T]):
    """``wanted``: what to keep now, of the intents that ``engine`` holds. ``what``: that, for logs."""

    def __init__(self, values: Retained[T], wanted: Callable[[], Mapping[Key, T]], engine: Engine, what: str) -> None:
        self._values = values
        self._list_wanted = wanted
        self._engine = engine
        self._wanted: Mapping[Key, T] = {}
        self._kept: dict[Key, object] | None = None
        """Key → the version of its retained value; None: not known, since another process may have written values."""
        self._tried: dict[Key, object] = {}
        """Key → the version that was sent last."""
        self.loop: Loop[Key] = Loop(
            self._reconcile, name=f"{what} can't be retained over a restart yet", backoff=_REJECTED
        )
        self.loop.add(ALL)

    def _reconcile(self, key: Key) -> Coroutine[Any, Any, Result]:
        return self._compare() if key == ALL else self._keep(key)

    async def _compare(self) -> RequeueAfter:
        """Queue the differences, if this process leads."""
        has_asked = False
        if not (self._engine.may_write and self._engine.first_pass_complete):
            self._kept = None
        else:
            if self._kept is None:
                has_asked = True
                self._kept = {key: _version(one) for key, one in (await self._values.list()).items()}
            self._wanted = self._list_wanted()
            for key in sorted(self._kept.keys() | self._wanted.keys()):
                version = _version(self._wanted.get(key))
                if self._kept.get(key) != version:
                    self.loop.add(key, unchanged=self._tried.get(key) == version)
        return RequeueAfter(_PERIOD, keeps_failures=not has_asked)

    async def _keep(self, key: Key) -> None:
        """Retain what is wanted of an intent."""
        if self._kept is None or not self._engine.may_write:
            return
        one = self._wanted.get(key)
        version = self._tried[key] = _version(one)
        if one is None:
            await self._values.remove(key)
            self._kept.pop(key, None)
            self._tried.pop(key, None)
        else:
            await self._values.put(one)
            self._kept[key] = version


def _version(one: Resource | HeldFacts | None) -> object:
    """A value that is equal for two states if they need not be written again."""
    return one.mod_revision if isinstance(one, Resource) else one
