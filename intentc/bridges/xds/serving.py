"""Runs the xDS server: the watch, the cache, the records, and the streams of Envoys; reports its status.

The cache is published when the store has been quiet for a moment, so that what a compiler writes together (a cluster,
then its route) is sent together; and when an element is retried, or the end of a drain time or a silent Envoy is due.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from intentc.model.events import Batch, Snapshot
from intentc.watch.protocol import Store
from intentc.watch.source import Source

from ..process import Follower
from .ads import Discovery, listening
from .draining import ENVOYS_DEFAULT_SECONDS, Draining
from .elements import CLUSTER, Type
from .encoding import load_extensions
from .metrics import Figures
from .rejection_records import Records
from .rejections import RejectionAnalyzer
from .snapshot_cache import SnapshotCache
from .watch_consumer import WatchConsumer

_LOG = logging.getLogger(__name__)
_QUIET_SECONDS = 0.005
"""Publishing waits until so long nothing has changed, ``_LONGEST_DELAY`` at most."""
_LONGEST_DELAY = 0.1


class Server(Follower):
    """An xDS server over one store, created by ``running_xds``."""

    def __init__(
        self,
        store: Store,
        path: str,
        drain_seconds: float = ENVOYS_DEFAULT_SECONDS,
    ) -> None:
        super().__init__(Source(store, f"/{path.strip('/')}/"))
        self.cache = SnapshotCache(draining=Draining(drain_seconds))
        self.rejections = RejectionAnalyzer(self.cache, self._changed)
        self.consumer = WatchConsumer(self.cache)
        self.records = Records(store, path, self.consumer.records)
        self.figures = Figures(self.status)
        self.discovery = Discovery(self.cache, self.rejections, self.figures, self._changed)
        self.port = 0
        self._wake = anyio.Event()

    def take(self, item: Snapshot | Batch) -> None:
        self.consumer.apply(item)
        if not self.listed.is_set():
            self.cache.unrecorded.update(self.consumer.orphans())
            self._publish()
        self._changed()

    async def publish(self) -> None:
        """Publish changes with the configured delay until cancelled."""
        while True:
            cache = self.cache
            times = (cache.draining.wait(), cache.progress.wait(cache.serial))
            due = [seconds for seconds in times if seconds is not None]
            with anyio.move_on_after(min(due, default=None)):
                await self._wake.wait()
            latest = time.monotonic() + _LONGEST_DELAY
            while self._wake.is_set() and time.monotonic() < latest:
                self._wake = anyio.Event()
                with anyio.move_on_after(_QUIET_SECONDS):
                    await self._wake.wait()
            self._wake = anyio.Event()
            self._publish()

    def pending(self) -> list[dict[str, str]]:
        """The elements that wait for clusters, each with the cluster."""
        return [
            {"holder": " ".join(key), "relation": CLUSTER, "target": cluster}
            for key, clusters in sorted(self.cache.held.items())
            for cluster in sorted(clusters)
        ]

    def status(self) -> dict[str, Any]:
        """The status as JSON: elements, and the rejected ones with reasons."""
        cache = self.cache
        rejected = sorted(cache.rejected.items())
        return {
            "applied_revision": cache.revision,
            "serial": cache.serial,
            "streams": len(cache.streams),
            "silent_streams": cache.progress.silent,
            "elements": {"all": cache.number, "rejected": len(rejected), "held": len(cache.held)},
            "rejected": [{"kind": kind, "name": name, "message": state.rejection} for (kind, name), state in rejected],
            "resources": {kind.name.lower(): len(cache.served.resources(kind)) for kind in Type},
        }

    def _changed(self) -> None:
        self.records.write(self.cache)
        self._wake.set()

    def _publish(self) -> None:
        began = time.perf_counter()
        self.rejections.retries.sweep()
        if self.cache.publish():
            self.figures.publishing.observe(time.perf_counter() - began)
        self.discovery.published()


@asynccontextmanager
async def running_xds(
    store: Store,
    path: str,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    drain_seconds: float = ENVOYS_DEFAULT_SECONDS,
) -> AsyncIterator[Server]:
    """Serve the elements under ``/<path>/`` to Envoys at ``host``:``port`` (0: a free one, see ``Server.port``).
    ``drain_seconds``: the drain time with which those Envoys are started.

    Listens once everything in the store is applied: an Envoy that finds no server keeps what it has, one that is sent
    an empty cache does not. Raises ``AddressTaken``.
    """
    load_extensions()
    server = Server(store, path, drain_seconds)
    failure: BaseException | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.follow)
        tasks.start_soon(server.records.loop.run)
        tasks.start_soon(server.rejections.retries.loop.run)
        await server.listed.wait()
        try:
            async with listening(server.discovery, host, port) as bound:
                server.port = bound
                tasks.start_soon(server.publish)
                _LOG.info("serving Envoys at %s:%d", host, bound)
                yield server
        except Exception as error:  # raised below, so that the caller gets it unwrapped, not in an exception group
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
