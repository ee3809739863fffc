"""Writes a key every few seconds that this process sees on its own watch.

A quiet watch and a dead one look the same, and etcd itself reports progress only every ten minutes. ``source``, which
reads the watch, notices missing beats.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, NoReturn

import anyio

from intentc.reconcile.failures import Denied, Failure
from intentc.watch.keys import heartbeat_key, heartbeat_prefix
from intentc.watch.protocol import LeaseNotFound, Put, Store, StoreFull
from intentc.watch.watch_state import SourceCounters

_LOGGER = logging.getLogger(__name__)
_LAST_SECONDS = 1.0
"""Seconds for removing the beat at the end."""


class Heartbeat(NamedTuple):
    """The process that beats, and how often (seconds). After ``missing`` beats in a row the watch counts as dead."""

    installation: str
    process: str
    interval: float = 5.0
    missing: int = 3

    @property
    def prefix(self) -> str:
        """Watched in addition to the resources. Beats of other processes there also prove that the watch lives."""
        return heartbeat_prefix(self.installation)

    @property
    def key(self) -> str:
        """The key that this process writes."""
        return heartbeat_key(self.installation, self.process)

    @property
    def patience(self) -> float:
        """Seconds of silence after which the watch counts as dead."""
        return self.interval * self.missing


class Pulse:
    """Puts the heartbeat while it runs; failures are counted, and logged once until it works again. ``on_rejection`` is
    called with the reason why the store rejects it, and with "" once it doesn't any more; the watch itself notices an
    unreachable store. ``on_revision`` is called with each beat's revision."""

    def __init__(
        self,
        store: Store,
        heartbeat: Heartbeat,
        counters: SourceCounters,
        on_rejection: Callable[[str], None],
        on_revision: Callable[[int], None] = lambda revision: None,
    ) -> None:
        self._store = store
        self._heartbeat = heartbeat
        self._counters = counters
        self._on_rejection = on_rejection
        self._on_revision = on_revision
        self._lease = 0
        self._failing = False

    async def run(self) -> NoReturn:
        """Beat until cancelled. The key lies on a lease, so it is deleted soon after the process is killed, and at once
        when it ends normally."""
        beat = 0
        try:
            while True:
                beat += 1
                try:
                    await self._put(beat)
                except Failure as error:
                    self._counters.heartbeats_failed += 1
                    if not self._failing:
                        _LOGGER.warning("heartbeat %s can't be written: %s", self._heartbeat.key, error)
                    self._failing = True
                    if isinstance(error, Denied | StoreFull):
                        self._on_rejection(str(error))
                else:
                    self._counters.heartbeats_put += 1
                    if self._failing:
                        _LOGGER.info("heartbeat %s is written again", self._heartbeat.key)
                    self._failing = False
                    self._on_rejection("")
                await anyio.sleep(self._heartbeat.interval)
        finally:
            await self._end()

    async def _end(self) -> None:
        if self._lease:
            with anyio.move_on_after(_LAST_SECONDS, shield=True), suppress(Failure):
                await self._store.revoke_lease(self._lease)

    async def _put(self, beat: int) -> None:
        if self._lease and await self._store.keep_lease_alive(self._lease) == 0:
            self._lease = 0
        if not self._lease:
            self._lease = await self._store.grant_lease(max(2, math.ceil(self._heartbeat.patience * 2)))
        try:
            put = await self._store.transaction([], [Put(self._heartbeat.key, b"%d" % beat, self._lease)])
        except LeaseNotFound:
            self._lease = 0
            raise
        self._on_revision(put.revision)
