"""The xDS server as a running program: the watch, the world, and the streams of Envoys.

Why it exists: ``intentc xds``, ``intentc dev`` and the tests need exactly this. The world is published when the store
has been quiet for a moment: what a compiler writes together (a cluster, then its route) is then told together. Commands
and signals are left to the callers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any, NamedTuple

import anyio

from intentc.watch.protocol import Store
from intentc.watch.source import Source

from .ads import Discovery, listening
from .draining import ENVOYS_DEFAULT_SECONDS, Draining
from .element_states import Key
from .elements import Rejection
from .encoding import load_extensions
from .intake import Intake
from .kinds import CLUSTER, Type
from .metrics import Figures
from .records import Records
from .rejections import Judge
from .world import World

_LOG = logging.getLogger(__name__)


class Pace(NamedTuple):
    """When changes are published: after ``quiet`` seconds without another one, at the latest after ``longest``."""

    quiet: float = 0.005
    longest: float = 0.1


DEFAULT_PACE = Pace()


class Server:
    """An xDS server over one store. Made by ``running_xds``."""

    def __init__(
        self,
        store: Store,
        path: str,
        pace: Pace = DEFAULT_PACE,
        drain_seconds: float = ENVOYS_DEFAULT_SECONDS,
    ) -> None:
        self.world = World(draining=Draining(drain_seconds))
        self.records = Records(store, path)
        self.judge = Judge(self.world, self._record)
        self.intake = Intake(self.world)
        self.figures = Figures(self.status)
        self.discovery = Discovery(self.world, self.judge, self.figures, self._changed)
        self.port = 0
        self._source = Source(store, f"/{path.strip('/')}/")
        self._pace = pace
        self._wake = anyio.Event()
        self._listed = anyio.Event()
        self.world.on_settled = self._settled

    async def listed(self) -> None:
        """Return when everything that stands in the store has been taken in."""
        await self._listed.wait()

    async def watch(self) -> None:
        """Take in what the store tells, until cancelled."""
        async with aclosing(self._source.events()) as events:
            async for item in events:
                self.intake.apply(item)
                for key in self.intake.records:
                    self.records.seen(key)
                for key, _ in self.intake.unencodable:
                    self.judge.write_down(key)
                self.intake.unencodable.clear()
                if not self._listed.is_set():
                    for key in self.intake.orphans():
                        self.records.record(key, None)
                    self._publish()
                    self._listed.set()
                self._changed()

    async def publish(self) -> None:
        """Publish what has changed at the pace that is set, until cancelled."""
        while True:
            world = self.world
            times = (self.judge.retries.wait(), world.draining.wait(), world.answers.wait(world.serial))
            due = [seconds for seconds in times if seconds is not None]
            with anyio.move_on_after(min(due, default=None)):
                await self._wake.wait()
            latest = time.monotonic() + self._pace.longest
            while self._wake.is_set() and time.monotonic() < latest:
                self._wake = anyio.Event()
                with anyio.move_on_after(self._pace.quiet):
                    await self._wake.wait()
            self._wake = anyio.Event()
            self._publish()

    def healthy(self) -> bool:
        """Whether it does its work; see ``diagnostics.Observed``, as for the next ones."""
        return self._listed.is_set()

    def ready(self) -> tuple[bool, tuple[str, ...]]:
        """Whether everything was taken in and the store is heard."""
        state = self._source.state
        if state.ready and self._listed.is_set():
            return True, ()
        return False, (f"etcd: {state.phase.value}" + (f" ({state.last_error})" if state.last_error else ""),)

    def pending(self) -> list[dict[str, str]]:
        """Who waits for which clusters."""
        return [
            {"holder": " ".join(key), "relation": CLUSTER, "target": cluster}
            for key, clusters in sorted(self.world.held.items())
            for cluster in sorted(clusters)
        ]

    def status(self) -> dict[str, Any]:
        """How it stands, as JSON: elements, who is refused and why."""
        world = self.world
        refused = {key: world.standings.get(key) for key in sorted(world.standings.refused())}
        return {
            "applied_revision": world.revision,
            "serial": world.serial,
            "streams": len(world.streams),
            "silent_streams": world.answers.silent,
            "elements": {"all": world.standings.number, "refused": len(refused), "held": len(world.held)},
            "refused": [
                {"kind": kind, "name": name, "message": standing.refused if standing is not None else ""}
                for (kind, name), standing in refused.items()
            ],
            "resources": {kind.name.lower(): len(world.resources(kind)) for kind in Type},
        }

    def _record(self, key: Key, rejection: Rejection | None) -> None:
        """Have it written, unless it stands in the store already: what is tried again is refused in the same words."""
        known, standing = self.intake.records.get(key), self.world.standings.get(key)
        wanted = standing.wanted if standing is not None else None
        there = known is not None and known.rejection == rejection and not self.records.pending(key)
        if there and known is not None and wanted is not None and known.revision >= wanted.element.revision:
            return
        self.records.record(key, rejection)

    def _settled(self, key: Key) -> None:
        self.records.record(key, None)

    def _changed(self) -> None:
        self._wake.set()

    def _publish(self) -> None:
        began = time.perf_counter()
        self.judge.retries.sweep()
        if self.world.publish():
            self.figures.publishing.observe(time.perf_counter() - began)
        self.discovery.published()


@asynccontextmanager
async def running_xds(
    store: Store,
    path: str,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    pace: Pace = DEFAULT_PACE,
    drain_seconds: float = ENVOYS_DEFAULT_SECONDS,
) -> AsyncIterator[Server]:
    """Serve the elements under ``/<path>/`` to Envoys at ``host``:``port`` (0: a free one, see ``Server.port``).
    ``drain_seconds``: the drain time with which those Envoys are started.

    Listens once everything in the store has been taken in: an Envoy that finds nobody keeps what it has, one that is
    told of an empty world does not. Raises ``AddressTaken``.
    """
    load_extensions()
    server = Server(store, path, pace, drain_seconds)
    failure: BaseException | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.watch)
        tasks.start_soon(server.records.run)
        await server.listed()
        try:
            async with listening(server.discovery, host, port) as bound:
                server.port = bound
                tasks.start_soon(server.publish)
                _LOG.info("serving Envoys at %s:%d", host, bound)
                yield server
        except Exception as error:  # the caller's own, or of the address: it shall not reach it wrapped in a group
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
