"""Assembles one engine from the configuration and runs it until it is drained.

It opens no connection: the caller passes the store and the services. First it takes these steps, each until it
succeeds: it asks etcd, claims the path, waits for mirrored kinds, reads the allocations and records suspects. Then it
runs the engine, and tasks next to it: heartbeat, relist, audits, takeover, journal files and others. It implements
``diagnostics.Process``, for which ``status`` and ``inspection`` compute the answers.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import anyio

from intentc.model.bridge_keys import synced_prefix
from intentc.reconcile import persist
from intentc.reconcile.failures import Failure

from ..directives import DirectiveWatch, hold_suspects
from ..engine.api_throttle import ApiServerProbe
from ..engine.assembly import assemble
from ..engine.engine import Engine
from ..evaluation import Overview
from ..evaluation.crash_marker import CrashMarker
from ..inspection import Reader
from ..inspection.pending_references import every_pending
from ..journal.keeping import Keeping
from ..leading import KeeperFactory, claim_path
from ..listening.origin import url_host
from ..loading.certificates import Expiries
from ..loading.configuration import Configuration
from ..loading.configuration.sections import Diagnostics, Intentc, Kubernetes
from ..logic import LiveWorld
from ..model import Key
from ..planning import DeleteGuard
from ..plugins import Loaded
from ..retained import Keeper, KnownFields, RetainedValues
from ..watch.heartbeat import Heartbeat
from ..watch.protocol import Store, prefix_end
from ..watch.source import Source
from ..writing import ReadService, WriteService
from ..writing.http import HttpWriteService
from .audits import PeriodicAudit, Spawn
from .compiler_status import CompilerStatus, Parts
from .problem_reports import ProblemReports
from .takeover import TakeOver

_LOG = logging.getLogger(__name__)
_WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - they are not listened on here

Task = Callable[[], Coroutine[Any, Any, None]]
"""What runs next to the engine, until it is cancelled."""


class Step(NamedTuple):
    """What must succeed before anything is evaluated. ``lack``: what is wrong until then, for people."""

    lack: str
    do: Callable[[], Awaitable[object]]


def process_name() -> str:
    """Return a name that distinguishes the processes of one installation."""
    return f"{socket.gethostname()}-{os.getpid()}"


def build_service(
    configuration: Configuration,
    compilers: Loaded,
    store: Store,
    write: WriteService,
    read: ReadService,
    *,
    observe: bool = False,
    keepers: KeeperFactory | None = None,
    spawn: Spawn | None = None,
    crash_marker: CrashMarker | None = None,
) -> CompilerService:
    """Build a service from ``configuration``; ``run`` starts it. ``keepers``: keep the leader's lease alive, None for
    the store itself. ``spawn``: runs audits, None for none. ``crash_marker``: records the key under evaluation, and has
    those that dead processes were evaluating. Raises ``UnusableDirectory`` if the journal's directory can't be used."""
    settings, compilation, path = configuration.intentc, configuration.compilation, configuration.etcd.path
    installation, process = settings.installation, process_name()
    started = f"{process}, started at {datetime.now(UTC).isoformat(timespec='milliseconds')}"
    known_fields = KnownFields(store, compilers.schema, installation=installation)
    retained = RetainedValues(store, compilers.schema, path=path, installation=installation)
    heartbeat = Heartbeat(installation, process, interval=settings.watch.heartbeat)
    source = Source(store, f"/{path}/", heartbeat=heartbeat)
    engine = assemble(
        compilers,
        write,
        read,
        installation=installation,
        settings=settings.settings,
        observe=observe,
        journal_size=settings.journal.entries,
        journal_bytes=settings.journal.bytes,
        process=process,
        guard=DeleteGuard(settings.limits.max_deletes, settings.limits.max_deletes_percent / 100),
        writes_per_second=settings.limits.writes_per_second,
        status_interval=settings.limits.status_interval,
        crash_marker=crash_marker,
        last_good=retained,
    )
    engine.permission.require_watch(source)
    # Allocations are not watched: a store that was restored while the watch was cut, to a state with everything that it
    # delivered, looks unchanged, and may lack some.
    source.on_resumed = engine.allocations.invalidate
    directives = DirectiveWatch(store, installation, engine.operator_actions, engine, heartbeat=heartbeat)
    names = tuple(compiler.name for compiler in compilers.compilers)
    claim = partial(claim_path, store, path, installation, names, started)
    server = write.capabilities if isinstance(write, HttpWriteService) else None

    async def confirm() -> None:
        await claim()
        await known_fields.check()

    takeover = None
    if compilation.master_election and not observe:
        takeover = TakeOver(
            engine,
            store,
            f"/{path}/",
            installation=installation,
            process=process,
            address=_address(settings.diagnostics),
            ttl=compilation.lease_seconds,
            versions=compilers.versions,
            max_writes_on_upgrade=settings.limits.max_writes_on_upgrade,
            resources=source,
            directives=directives,
            claim=confirm,
            record=known_fields.record,
            keepers=keepers,
        )
    parts = Parts(
        directives,
        takeover,
        PeriodicAudit(engine, spawn, period=settings.audit.period, source=source) if spawn else None,
        _keeping(engine, settings, process) if settings.journal.directory and not observe else None,
        server,
        Expiries(configuration),
    )
    steps = [Step(f"etcd at {', '.join(configuration.etcd.endpoints)} can't be asked", source.ask)]
    if not observe:
        steps.append(Step("etcd.path can't be claimed", claim))
    # A leader records them later, when it begins to write.
    known = known_fields.load if takeover is not None or observe else known_fields.load_and_record
    steps.append(Step("the fields of earlier schemas can't be read", known))
    if synced := synced_check(store, path, compilers.needs_synced, settings.kubernetes):
        steps.append(Step("kinds of the cluster are not mirrored", synced))
    # Allocations are an input (docs/engine.md §8).
    steps.append(Step("the allocations can't be read", engine.load_allocations))
    if crash_marker is not None and not observe:
        # An intent that ended a process must not end the next one.
        hold = partial(hold_suspects, store, installation, path, crash_marker.suspects, by=started)
        steps.append(Step("suspects can't be held", hold))
    tasks = tasks_of(engine, source, parts, relist_slice=settings.watch.relist_slice)
    stored = [kind.name for kind in compilers.schema if kind.stored]
    if server is not None and stored:
        tasks.append(ApiServerProbe(read, engine.throttle, stored[0]).run)
    tasks.append(Keeper(retained, engine.last_good_values, engine, "last good values").loop.run)
    tasks.append(Keeper(retained.facts, engine.held_facts, engine, "facts").loop.run)
    # Only such kinds are mirrored; others need no permission for reports.
    if any(kind.written_as_manifests for kind in compilers.schema):
        fence = takeover.election.fence if takeover is not None else None
        reports = ProblemReports(
            store, engine, engine.states, engine.world, path=path, installation=installation, fence=fence
        )
        tasks.append(reports.loop.run)
    return CompilerService(engine, source, parts, steps=steps, tasks=tasks, views=compilers.views)


def tasks_of(engine: Engine, source: Source, parts: Parts, *, relist_slice: float) -> list[Task]:
    """Return what ``parts`` do next to the engine. ``relist_slice``: seconds between slices of the relist."""
    tasks: list[Task] = [
        source.run_heartbeat,
        parts.directives.run,
        partial(_relist, engine, source, relist_slice),
    ]
    if parts.keeping is not None:
        tasks.append(parts.keeping.run)
    if parts.auditing is not None:
        tasks.append(parts.auditing.run)
    if parts.takeover is not None:
        tasks.append(parts.takeover.run)
    return tasks


def _address(diagnostics: Diagnostics) -> str:
    """The address of our diagnostics, for people; empty while the port is unknown."""
    host, port = diagnostics.address.host, diagnostics.address.port
    scheme = "https" if diagnostics.tls.cert else "http"
    shown = socket.gethostname() if host in _WILDCARDS else url_host(host)
    return f"{scheme}://{shown}:{port}" if port else ""


def _keeping(engine: Engine, settings: Intentc, process: str) -> Keeping:
    """Build what keeps the journal in files."""
    from ..journal.ring import JournalFiles, this_process  # only with a journal directory

    journal, world, wanted = engine.journal, engine.world, settings.journal
    files = JournalFiles(
        Path(wanted.directory),
        files=wanted.files,
        file_bytes=wanted.file_bytes,
        process=this_process(settings.installation, process, time.time()),
    )
    journal.directory = files.directory

    def name_of(key: Key) -> str:
        return journal.names.get(key) or world.name_of(key)

    return Keeping(journal, files, name_of, world.at_start)


class Unsynced(Failure):
    """Kinds were never mirrored completely; the message names them."""


def synced_check(
    store: Store, path: str, needed: Collection[str], settings: Kubernetes
) -> Callable[[], Awaitable[None]] | None:
    """Return what must succeed before compilers that need whole kinds (``needed``) run; None if nothing has to. Until a
    kind is listed completely, an intent can't know whether a resource that it does not find exists. Kinds that
    ``settings`` do not mirror arrive in another way."""
    kinds = [kind for kind in needed if not settings.kinds or kind in settings.kinds]
    if not kinds or settings.wait is False:
        return None
    return partial(check_synced, store, path, kinds, settings.wait or (True if settings.kubeconfig else None))


async def check_synced(store: Store, path: str, kinds: Collection[str], wait: bool | None = True) -> None:
    """Raise ``Unsynced`` unless the bridge has marked each of ``kinds`` as mirrored (``model/bridge_keys.py``), and
    other ``Failure`` as the store does. ``wait``: whether a bridge feeds the store; None: if it has any mark."""
    prefix = synced_prefix(path)
    found = await store.range(prefix, prefix_end(prefix), keys_only=True)
    if wait is None and not found.items:
        return
    missing = sorted(set(kinds) - {item.key.removeprefix(prefix) for item in found.items})
    if missing:
        raise Unsynced(f"{', '.join(missing)}; start `intentc kubernetes`, or set intentc.kubernetes.wait to false")


class _Believed:
    """The cache in the form that the relist compares."""

    def __init__(self, world: LiveWorld) -> None:
        self._world = world

    def keys(self) -> Iterable[tuple[str, str]]:
        return iter(self._world.cache)

    def keeps(self, kind: str) -> bool:
        return kind in self._world.cache.stored

    def mod_revision(self, kind: str, uuid: str) -> int:
        return self._world.mod_revision(Key(kind, uuid))


async def _relist(engine: Engine, source: Source, period: float) -> None:
    """Relist a slice in each period; apply missed events as corrections. The source counts them."""
    live = _Believed(engine.world)
    while True:
        await asyncio.sleep(period)
        missed = await source.relist_slice(live)
        if missed is not None:
            _LOG.warning("the relist found %d missed events; applying them", len(missed.changes))
            engine.correct(missed)


class CompilerService(CompilerStatus):
    """Runs an engine over ``source`` and implements ``diagnostics.Process``. ``steps``: what must succeed first;
    ``tasks``: what runs next to the engine, those of ``parts`` included."""

    def __init__(
        self,
        engine: Engine,
        source: Source,
        parts: Parts,
        *,
        steps: Sequence[Step],
        tasks: Sequence[Task],
        views: Mapping[str, Overview] | None = None,
    ) -> None:
        super().__init__(engine, source, parts)
        self.engine = engine
        self.reader = Reader(engine, views)
        """Answers the questions of the diagnostics."""
        self.takeover = parts.takeover
        self.tasks = tasks
        self._steps = steps
        self._running = False

    async def run(self) -> None:
        """Serve until cancelled, then drain and resign the leadership. Raises what ended it: the failure of a part, an
        API server that rejects us in favour of another compiler though we need no election, or a path of another
        installation (``leading.claim_path``)."""
        # Healthy from the start: a restart would not bring back a server that is away.
        self._running = True
        # ``busy_seconds`` counts from here.
        self.look()
        try:
            for step in self._steps:
                await self._until_done(step)
            await self._parts.directives.load()
            async with aclosing(self._source.events()) as events, anyio.create_task_group() as group:
                group.start_soon(self.sample)
                for task in self.tasks:
                    group.start_soon(task)
                try:
                    await self.engine.run(events)
                finally:
                    if self.takeover is not None:
                        await self.takeover.end()
                group.cancel_scope.cancel()
        finally:
            self._running = False
            if self._parts.keeping is not None:
                self._parts.keeping.end()
            _LOG.info("drained: %d writes in all", self.engine.sender.written)

    async def _until_done(self, step: Step) -> None:
        await persist(step.do, step.lack, log=_LOG, on_failure=self.lacks)
        self.lacks("")

    def healthy(self) -> bool:
        return self._running

    def pending(self) -> list[dict[str, str]]:
        return every_pending(self.engine.world)
