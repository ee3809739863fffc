"""Has the leader store last good values, or facts, in etcd, and remove those that are no longer wanted.

The engine knows what is wanted: its last good values, and the facts of unfinished intents. This is a loop apart from
the event's path, since only the next process needs what is retained.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import anyio

from intentc.model import HeldFacts, Key, Resource
from intentc.reconcile.failures import Failure, Unavailable

if TYPE_CHECKING:
    from intentc.engine.engine import Engine

T = TypeVar("T", bound=Resource | HeldFacts)

_LOG = logging.getLogger(__name__)
_PERIOD = 1.0
"""Seconds between checks."""


class Retained(Protocol[T]):
    """Where something is kept for each intent: ``RetainedValues``, ``RetainedFacts``."""

    async def list(self) -> dict[Key, T]: ...

    async def put(self, one: T, /) -> None: ...

    async def remove(self, key: Key) -> None: ...


class Keeper(Generic[T]):
    """``wanted``: what to keep now, of the intents that ``engine`` holds."""

    def __init__(
        self,
        values: Retained[T],
        wanted: Callable[[], Mapping[Key, T]],
        engine: Engine,
        *,
        period: float = _PERIOD,
    ) -> None:
        self._values = values
        self._wanted = wanted
        self._engine = engine
        self._period = period
        self._kept: dict[Key, object] | None = None
        """Key → the version of its retained value; None: not known, since another process may have written values."""
        self._rejected: dict[Key, object] = {}
        """Values that etcd rejects, most likely because of their size."""

    async def run(self) -> None:
        """Keep what is wanted, without end."""
        while True:
            await anyio.sleep(self._period)
            await self.tend()

    async def tend(self) -> None:
        """Write and remove the differences, if this process leads; an error is logged, and the next call retries."""
        if not (self._engine.may_write and self._engine.first_pass_complete):
            self._kept = None
            return
        wanted = self._wanted()
        self._rejected = {key: version for key, version in self._rejected.items() if key in wanted}
        try:
            if self._kept is None:
                self._kept = {key: _version(one) for key, one in (await self._values.list()).items()}
            for key in sorted(self._kept.keys() - wanted.keys()):
                await self._values.remove(key)
                del self._kept[key]
        except Failure as error:
            _LOG.debug("retained values can't be checked now: %s", error)
            return
        for key in sorted(wanted):
            await self._keep(key, wanted[key], self._kept)

    async def _keep(self, key: Key, one: T, kept: dict[Key, object]) -> None:
        version = _version(one)
        if version in (kept.get(key), self._rejected.get(key)):
            return
        try:
            await self._values.put(one)
        except Unavailable as error:
            _LOG.debug("the last good %s of %s are not retained yet: %s", _what(one), key, error)
        except Failure as error:
            _LOG.warning("the last good %s of %s are not retained over a restart: %s", _what(one), key, error)
            self._rejected[key] = version
        else:
            kept[key] = version


def _version(one: Resource | HeldFacts) -> object:
    """A value that is equal for two states if they need not be written again."""
    return one.mod_revision if isinstance(one, Resource) else one


def _what(one: Resource | HeldFacts) -> str:
    return "values" if isinstance(one, Resource) else "facts"
