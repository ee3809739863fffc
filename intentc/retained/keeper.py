"""Has the leader keep last good values, or facts, of held intents in etcd for as long as these are held.

Why a loop beside the event's path: nothing waits for what is retained but the next process. What is held, and by which
values it was good last, is the engine's business.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

import anyio

from intentc.model import HeldFacts, Key, Resource
from intentc.watch.protocol import StoreError, StoreUnavailable

T = TypeVar("T", bound=Resource | HeldFacts)

_LOG = logging.getLogger(__name__)
_PERIOD = 1.0
"""Seconds between looks."""


class Retained(Protocol[T]):
    """Where something of each intent is kept: ``RetainedValues``, ``RetainedFacts``."""

    async def list(self) -> dict[Key, T]: ...

    async def put(self, one: T, /) -> None: ...

    async def remove(self, key: Key) -> None: ...


class Keeper(Generic[T]):
    """``wanted``: what to keep now. ``settled``: whether the world was looked through once, so that
    what is not wanted may be removed. ``leading``: whether this process leads; another one only reads."""

    def __init__(
        self,
        values: Retained[T],
        wanted: Callable[[], Mapping[Key, T]],
        *,
        settled: Callable[[], bool],
        leading: Callable[[], bool],
        period: float = _PERIOD,
    ) -> None:
        self._values = values
        self._wanted = wanted
        self._settled = settled
        self._leading = leading
        self._period = period
        self._kept: dict[Key, object] | None = None
        """Key → what tells its retained value from others; None: not known, since another process may have written
        them."""
        self._rejected: dict[Key, object] = {}
        """Values that etcd does not take, most likely for their size."""

    async def run(self) -> None:
        """Keep what is wanted, without end."""
        while True:
            await anyio.sleep(self._period)
            await self.tend()

    async def tend(self) -> None:
        """Write and remove what differs, if this process leads; an error is logged, and the next call goes on."""
        if not (self._leading() and self._settled()):
            self._kept = None
            return
        wanted = self._wanted()
        try:
            if self._kept is None:
                self._kept = {key: _version(one) for key, one in (await self._values.list()).items()}
            for key in sorted(self._kept.keys() - wanted.keys()):
                await self._values.remove(key)
                del self._kept[key]
        except StoreError as error:
            _LOG.debug("retained values are not looked at now: %s", error)
            return
        for key in sorted(wanted):
            await self._keep(key, wanted[key], self._kept)

    async def _keep(self, key: Key, one: T, kept: dict[Key, object]) -> None:
        version = _version(one)
        if version in (kept.get(key), self._rejected.get(key)):
            return
        try:
            await self._values.put(one)
        except StoreUnavailable as error:
            _LOG.debug("the last good %s of %s are not retained yet: %s", _what(one), key, error)
        except StoreError as error:
            _LOG.warning("the last good %s of %s are not retained over a restart: %s", _what(one), key, error)
            self._rejected[key] = version
        else:
            kept[key] = version


def _version(one: Resource | HeldFacts) -> object:
    """What is equal for two that need not be written one after the other."""
    return one.mod_revision if isinstance(one, Resource) else one


def _what(one: Resource | HeldFacts) -> str:
    return "values" if isinstance(one, Resource) else "facts"
