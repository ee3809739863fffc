"""Has the leader keep the last good values of held intents in etcd, and remove those of intents that are good again.

Why a loop beside the event's path: nothing waits for a retained value but the next process. What is held, and by which
values it was good last, is the engine's business.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import anyio

from intentc.model import Key, Resource
from intentc.watch.protocol import StoreError, StoreUnavailable

from .values import RetainedValues

_LOG = logging.getLogger(__name__)
_PERIOD = 1.0
"""Seconds between looks."""


class Keeper:
    """``wanted``: the last good values to keep now. ``settled``: whether the world was looked through once, so that
    what is not wanted may be removed. ``leading``: whether this process leads; another one only reads."""

    def __init__(
        self,
        values: RetainedValues,
        wanted: Callable[[], Mapping[Key, Resource]],
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
        self._kept: dict[Key, int] | None = None
        """Key → mod revision of its retained value; None: not known, since another process may have written them."""
        self._rejected: dict[Key, int] = {}
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
                self._kept = {key: resource.mod_revision for key, resource in (await self._values.list()).items()}
            for key in sorted(self._kept.keys() - wanted.keys()):
                await self._values.remove(key)
                del self._kept[key]
        except StoreError as error:
            _LOG.debug("retained values are not looked at now: %s", error)
            return
        for key in sorted(wanted):
            await self._keep(key, wanted[key], self._kept)

    async def _keep(self, key: Key, resource: Resource, kept: dict[Key, int]) -> None:
        revision = resource.mod_revision
        if revision in (kept.get(key), self._rejected.get(key)):
            return
        try:
            await self._values.put(resource)
        except StoreUnavailable as error:
            _LOG.debug("the last good value of %s is not retained yet: %s", key, error)
        except StoreError as error:
            _LOG.warning("the last good value of %s is not retained over a restart: %s", key, error)
            self._rejected[key] = revision
        else:
            kept[key] = revision
