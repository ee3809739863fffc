"""The service: one engine beside a real etcd and a real API server, from start to drained end.

Why apart from the engine: here are the connections, the loops beside the event's path (heartbeat, audit of slices) and
the answers to "healthy?" and "ready?"; ``intentc run`` and ``intentc dev`` start the same thing. Which servers there
are is the caller's business.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Iterable
from contextlib import aclosing
from typing import Any

import anyio

from .assembly import assemble
from .cache import Cache
from .configuration import Configuration
from .engine import Engine
from .model import Key
from .pipeline.report import pending
from .planning import DeleteGuard
from .plugins import Loaded
from .watch.heartbeat import Heartbeat
from .watch.protocol import Store
from .watch.source import Source
from .writing import ReadService, WriteError, WriteService

_LOG = logging.getLogger(__name__)
_AUDIT_PERIOD = 1.0
"""Seconds between two slices of the background relist: the whole world in an hour (engine.md §1.5)."""
_LAG_PERIOD = 0.1
_LAG_FADING = 0.995
"""By which a peak of the loop's lag fades each period: half of it is left after 14 seconds."""
_RETRY = 1.0
"""Seconds between tries to read the ledger at the start."""


def process_name() -> str:
    """Tells the processes of one installation apart."""
    return f"{socket.gethostname()}-{os.getpid()}"


def build_service(
    configuration: Configuration,
    compilers: Loaded,
    store: Store,
    write: WriteService,
    read: ReadService,
    *,
    observe: bool = False,
) -> CompilerService:
    """A service as ``configuration`` says, not yet running."""
    settings = configuration.intentc
    engine = assemble(
        compilers,
        write,
        read,
        installation=settings.installation,
        settings=settings.settings,
        observe=observe,
        journal_size=settings.journal.entries,
        workers=configuration.compilation.number_of_workers,
        guard=DeleteGuard(settings.limits.max_deletes, settings.limits.max_deletes_percent / 100),
    )
    return CompilerService(engine, store, configuration.etcd.path)


class _CacheView:
    """The cache as the audit compares it."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def keys(self) -> Iterable[tuple[str, str]]:
        return iter(self._cache)

    def keeps(self, kind: str) -> bool:
        return kind in self._cache.stored

    def mod_revision(self, kind: str, uuid: str) -> int:
        state = self._cache.state(Key(kind, uuid))
        return state.mod_revision if state is not None else 0


class CompilerService:
    """An engine at work over ``store``; answers the questions of ``diagnostics.Observed``."""

    def __init__(self, engine: Engine, store: Store, path: str) -> None:
        self.engine = engine
        self._source = Source(store, f"/{path}/", heartbeat=Heartbeat(engine.parts.installation, process_name()))
        self._running = False
        self._lag = 0.0

    async def run(self) -> None:
        """Serve until cancelled, then drain. Raises what ended it: a part that must not end, or a lost leadership."""
        # Healthy from the start: waiting for a server that is away is work, and a restart would not bring it back.
        self._running = True
        try:
            await self._load_ledger()
            async with aclosing(self._source.events()) as events, anyio.create_task_group() as group:
                group.start_soon(self._source.run_heartbeat)
                group.start_soon(self._audit)
                group.start_soon(self._measure_lag)
                await self.engine.run(events)
                group.cancel_scope.cancel()
        finally:
            self._running = False
            _LOG.info("drained: %d writes in all", self.engine.reconciling.written)

    async def _load_ledger(self) -> None:
        """Numbers already given are an input: nothing is evaluated before they are known (engine.md §8)."""
        told = False
        while True:
            try:
                await self.engine.numbers.load()
            except WriteError as error:
                if not told:
                    _LOG.warning("the ledger can't be read yet: %s; trying again until it can", error)
                told = True
                await asyncio.sleep(_RETRY)
            else:
                if told:
                    _LOG.info("the ledger is read now")
                return

    async def _measure_lag(self) -> None:
        """How late the loop comes to its timers: what a stage that holds it too long does to all others."""
        turn = asyncio.get_running_loop().time
        while True:
            due = turn() + _LAG_PERIOD
            await asyncio.sleep(_LAG_PERIOD)
            late = max(0.0, turn() - due)
            # A peak stays visible for a while: whoever scrapes every fifteen seconds must see it.
            self._lag = max(late, self._lag * _LAG_FADING)

    async def _audit(self) -> None:
        """Relist a slice all the time; what was missed is applied as a correction, and counted by the source."""
        view = _CacheView(self.engine.parts.logic.cache)
        while True:
            await asyncio.sleep(_AUDIT_PERIOD)
            missed = await self._source.audit_slice(view)
            if missed is not None:
                _LOG.warning("the audit found %d missed events; they are applied now", len(missed.changes))
                self.engine.correct(missed)

    def healthy(self) -> bool:
        return self._running

    def ready(self) -> tuple[bool, tuple[str, ...]]:
        reasons = []
        state = self._source.state
        if not state.ready:
            reasons.append(f"etcd: {state.phase.value}" + (f" ({state.last_error})" if state.last_error else ""))
        if not self.engine.collecting.complete:
            reasons.append("the first pass is not complete")
        if not self.engine.reconciling.reachable:
            reasons.append("the API server can't be reached")
        return not reasons, tuple(reasons)

    def status(self) -> dict[str, Any]:
        state, counters = self._source.state, self._source.counters
        return {
            **self.engine.status(),
            "loop_lag_seconds": round(self._lag, 4),
            "watch": {
                "phase": state.phase.value,
                "since": state.since,
                "last_error": state.last_error,
                "lists": dict(counters.lists),
                "missed_events": counters.missed_events,
                "duplicates": counters.duplicates,
            },
        }

    def pending(self) -> list[dict[str, str]]:
        return pending(self.engine.parts)
