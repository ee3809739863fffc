"""Assembles one engine from the configuration and runs it until it is drained.

It opens no connection: the caller passes the store and the services. Before the engine runs, it asks etcd, claims the
path, waits for mirrored kinds, reads the allocations, records suspects and reads the directives, each until that
succeeds. Then it runs the tasks next to the engine: heartbeat, relist, audits, takeover, journal files and others. It
implements ``diagnostics.Process``, for which ``inspection`` and ``status`` compute most.

It changes the engine by its verbs, and gives the journal its directory. State: these tasks, the lag, and whether it
runs.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from intentc.reconcile.failures import Failure

from ..directives import DirectiveWatch, hold_suspects
from ..engine.api_throttle import ApiServerProbe
from ..engine.assembly import assemble
from ..engine.engine import Engine
from ..engine.permission import RESTORED, UPGRADE
from ..evaluation import Overview
from ..evaluation.crash_marker import CrashMarker
from ..inspection import Reader
from ..inspection.pending_references import every_pending
from ..inspection.pending_work import at
from ..inspection.status_tables import report
from ..journal.keeping import Keeping
from ..leading import KeeperFactory, OtherLeader, claim_path
from ..listening.origin import url_host
from ..loading.certificates import Expiries
from ..loading.configuration import Configuration
from ..loading.configuration.sections import Diagnostics, Intentc
from ..logic import LiveWorld
from ..model import Key
from ..planning import DeleteGuard
from ..plugins import Loaded
from ..retained import Keeper, KnownFields, RetainedValues
from ..watch.heartbeat import Heartbeat
from ..watch.protocol import Store
from ..watch.source import Source
from ..writing import ReadService, WriteService
from ..writing.capabilities import Capabilities
from ..writing.http import HttpWriteService
from .audits import AuditFailed, PeriodicAudit, Spawn
from .problem_reports import ProblemReports
from .status import CompilerStatus, Leadership
from .synced import synced_check
from .takeover import TakeOver

_LOG = logging.getLogger(__name__)
_AUDIT_RETRY = 10.0
"""Seconds between attempts at an audit after etcd was restored."""
_LAG_PERIOD = 0.1
_LAG_FADING = 0.995
"""Factor by which a peak of the loop's lag decays each period: half of it remains after 14 seconds."""
_WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - they are not listened on here
_RETRY = 1.0
"""Seconds between attempts to read the allocations at the start."""


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
    engine.require_watch(source)
    directives = DirectiveWatch(store, installation, engine.operator_actions, engine, heartbeat=heartbeat)
    names = tuple(compiler.name for compiler in compilers.compilers)
    claim = partial(claim_path, store, path, installation, names, started)

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
    hold = None
    if crash_marker is not None and not observe:
        hold = partial(hold_suspects, store, installation, path, crash_marker.suspects, by=started)
    return CompilerService(
        engine,
        source,
        directives=directives,
        takeover=takeover,
        auditing=PeriodicAudit(engine, spawn, period=settings.audit.period, source=source) if spawn else None,
        hold_suspects=hold,
        claim=None if observe else claim,
        # A leader records them later, when it begins to write.
        known_fields=known_fields.load if takeover is not None or observe else known_fields.load_and_record,
        synced=synced_check(store, path, compilers.needs_synced, settings.kubernetes),
        relist_slice=settings.watch.relist_slice,
        server=write.capabilities if isinstance(write, HttpWriteService) else None,
        views=compilers.views,
        keeping=_keeping(engine, settings, process) if settings.journal.directory and not observe else None,
        etcd=", ".join(configuration.etcd.endpoints),
        probe=_probe(read, engine, compilers) if isinstance(write, HttpWriteService) else None,
        certificates=Expiries(configuration),
        retaining=(
            Keeper(retained, engine.last_good_values, engine),
            Keeper(retained.facts, engine.held_facts, engine),
        ),
        reports=ProblemReports(
            store,
            engine,
            engine.states,
            engine.world,
            path=path,
            installation=installation,
            fence=takeover.election.fence if takeover is not None else None,
        )
        # Only such kinds are mirrored; others need no permission for reports.
        if any(kind.written_as_manifests for kind in compilers.schema)
        else None,
    )


def _address(diagnostics: Diagnostics) -> str:
    """The address of our diagnostics for people; empty if the port is not known yet."""
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


def _probe(read: ReadService, engine: Engine, compilers: Loaded) -> ApiServerProbe | None:
    kinds = [kind.name for kind in compilers.schema if kind.stored]
    return ApiServerProbe(read, engine.throttle, kinds[0]) if kinds else None


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


class CompilerService:
    """Runs an engine over ``source`` and implements ``diagnostics.Process``. ``etcd``: its addresses, for people.
    ``certificates``: file → when its certificates expire, in seconds since 1970."""

    def __init__(
        self,
        engine: Engine,
        source: Source,
        *,
        directives: DirectiveWatch,
        takeover: TakeOver | None,
        auditing: PeriodicAudit | None,
        hold_suspects: Callable[[], Awaitable[object]] | None = None,
        claim: Callable[[], Awaitable[None]] | None = None,
        known_fields: Callable[[], Awaitable[None]] | None = None,
        synced: Callable[[], Awaitable[None]] | None = None,
        relist_slice: float,
        server: Capabilities | None,
        views: Mapping[str, Overview] | None = None,
        keeping: Keeping | None = None,
        etcd: str = "",
        probe: ApiServerProbe | None = None,
        retaining: Sequence[Keeper[Any]] = (),
        reports: ProblemReports | None = None,
        certificates: Callable[[], Mapping[str, float]] = dict,
    ) -> None:
        self.engine = engine
        self._live = engine
        self._reloads = engine.reloads
        self._retaining = retaining
        self._reports = reports
        self._certificates = certificates
        self.reader = Reader(engine, views)
        """Answers the questions of the diagnostics."""
        self.directives = directives
        self.takeover = takeover
        self.auditing = auditing
        self._keeping = keeping
        self._etcd = etcd
        self._probe = probe
        self._source = source
        self._compiler_status = CompilerStatus(engine, source)
        self._hold_suspects = hold_suspects
        self._claim = claim
        self._known_fields = known_fields
        self._synced = synced
        self._relist_slice = relist_slice
        self._server = server
        if auditing is not None:
            engine.require_restore_confirmation()
        self._running = False
        self._lag = 0.0

    async def run(self) -> None:
        """Serve until cancelled, then drain and resign the leadership. Raises what ended it: the failure of a part, an
        API server that rejects us in favour of another compiler though we need no election, or a path of another
        installation (``leading.claim_path``)."""
        # Healthy from the start: a restart would not bring back a server that is away.
        self._running = True
        # ``busy_seconds`` counts from here.
        self._compiler_status.look()
        try:
            # First, since the API server depends on etcd: otherwise the log would blame the API server.
            await self._until_done(f"etcd{self._etcd and f' at {self._etcd}'} can't be asked", self._source.ask)
            if self._claim is not None:
                await self._until_done("etcd.path can't be claimed", self._claim)
            if self._known_fields is not None:
                await self._until_done("the fields of earlier schemas can't be read", self._known_fields)
            if self._synced is not None:
                await self._until_done("kinds of the cluster are not mirrored", self._synced)
            await self._until_done("the allocations can't be read", self.engine.load_allocations)
            if self._hold_suspects is not None:
                await self._until_done("suspects can't be held", self._hold_suspects)
            await self.directives.load()
            async with aclosing(self._source.events()) as events, anyio.create_task_group() as group:
                group.start_soon(self._source.run_heartbeat)
                group.start_soon(self.directives.run, self.engine.work_ended)
                group.start_soon(self._relist)
                group.start_soon(self._measure_lag)
                group.start_soon(self._compiler_status.run)
                if self._probe is not None:
                    group.start_soon(self._probe.run)
                for keeper in self._retaining:
                    group.start_soon(keeper.run)
                if self._reports is not None:
                    group.start_soon(self._reports.run)
                if self._keeping is not None:
                    group.start_soon(self._keeping.run)
                if self.auditing is not None:
                    group.start_soon(self.auditing.run)
                    group.start_soon(self._audit_restored, self.auditing)
                if self.takeover is not None:
                    group.start_soon(self.takeover.run)
                try:
                    await self.engine.run(events)
                finally:
                    if self.takeover is not None:
                        await self.takeover.end()
                group.cancel_scope.cancel()
        finally:
            self._running = False
            if self._keeping is not None:
                self._keeping.end()
            _LOG.info("drained: %d writes in all", self.engine.writes)

    async def _audit_restored(self, auditing: PeriodicAudit) -> None:
        """Audit after each restore of the store, and permit writes once an audit has judged the differences."""
        engine = self.engine
        while True:
            await engine.wait_until_restore_is_evaluated()
            restores = engine.restores
            try:
                verdict = await auditing.once("etcd was restored from an older state")
                if verdict.judged and restores == engine.restores:
                    engine.lift(RESTORED)
            except AuditFailed as error:
                _LOG.error(
                    "etcd was restored, and the audit failed: %s; writes stay withheld until one succeeds", error
                )
                await anyio.sleep(_AUDIT_RETRY)

    async def _until_done(self, lack: str, do: Callable[[], Awaitable[object]]) -> None:
        """Repeat ``do`` until it succeeds. Evaluation must wait for it: allocations are an input (docs/engine.md §8),
        and an intent that ended a process must not end the next one."""
        is_logged = False
        while True:
            try:
                await do()
            except (Failure, OtherLeader) as error:
                if not is_logged:
                    _LOG.warning("%s yet: %s; trying again every second", lack, error)
                is_logged = True
                self._compiler_status.lacking = f"{lack} yet: {error}"
                await asyncio.sleep(_RETRY)
            else:
                if is_logged:
                    _LOG.info("succeeded after the failure %r", lack)
                self._compiler_status.lacking = ""
                return

    async def _measure_lag(self) -> None:
        """Measure how late the loop's timers run, which shows a stage that holds the loop."""
        turn = asyncio.get_running_loop().time
        while True:
            due = turn() + _LAG_PERIOD
            await asyncio.sleep(_LAG_PERIOD)
            late = max(0.0, turn() - due)
            # A peak decays slowly, so that a scrape every 15 seconds sees it.
            self._lag = max(late, self._lag * _LAG_FADING)

    async def _relist(self) -> None:
        """Relist a slice in each period; apply missed events as corrections. The source counts them."""
        live = _Believed(self.engine.world)
        while True:
            await asyncio.sleep(self._relist_slice)
            missed = await self._source.relist_slice(live)
            if missed is not None:
                _LOG.warning("the relist found %d missed events; applying them", len(missed.changes))
                self.engine.correct(missed)

    def healthy(self) -> bool:
        return self._running

    def ready(self) -> tuple[bool, tuple[str, ...]]:
        reasons = []
        state = self._source.state
        if not state.ready:
            because = f" ({state.last_error})" if state.last_error else ""
            reasons.append(f"etcd: {state.phase.value} since {at(state.since)}{because}")
        elif self.takeover is not None and self.takeover.election.unanswered_since() is not None:
            reasons.append("etcd: no answer, so the leadership was lost")
        if not self.engine.first_pass_complete:
            reasons.append("the first pass is not complete")
        if not self._live.progress.reachable:
            reasons.append(f"the API server can't be reached{self._compiler_status.away_since}")
        if self.takeover is not None and self.takeover.hindered:
            reasons.append(self.takeover.hindered)
        withheld = self.engine.withheld
        reasons += [f"{reason}: {message}" for reason, message in withheld.items() if reason in {RESTORED, UPGRADE}]
        return not reasons, tuple(reasons)

    def status(self) -> dict[str, Any]:
        state, counters = self._source.state, self._source.counters
        return {
            **report(self._live, converged=self.engine.converged),
            **self._compiler_status.status(self._leadership()),
            "loop_lag_seconds": round(self._lag, 4),
            "watch": {
                "phase": state.phase.value,
                "since": state.since,
                "last_error": state.last_error,
                "lists": dict(counters.lists),
                "disconnects": dict(counters.disconnects),
                "missed_events": counters.missed_events,
                "duplicates": counters.duplicates,
                "restored": self.engine.restores,
            },
            "directives": self.directives.report(),
            "leading": self.takeover.report() if self.takeover is not None else None,
            "audit": self.auditing.figures() if self.auditing is not None else None,
            "journal": self._journal(),
            "certificates": dict(self._certificates()),
            "reload": self._reloads.status(),
            "api_server": {
                "fences": self._server.fences if self._server is not None else None,
                "reachable": self._live.progress.reachable,
            },
        }

    def _journal(self) -> dict[str, Any]:
        journal = self.engine.journal
        kept = {"first": journal.first, "last": journal.last, "bytes": journal.size_bytes}
        return {**kept, "files": self._keeping.figures() if self._keeping is not None else None}

    def progress(self) -> dict[str, Any] | None:
        """Return the progress of the first load: ``phase``, ``done``, ``total``; None after it."""
        return self._compiler_status.progress()

    def _leadership(self) -> Leadership | None:
        if self.takeover is None:
            return None
        election = self.takeover.election
        return Leadership(
            election.fence() is not None, election.leader(), self.takeover.hindered, election.unanswered_since()
        )

    def pending(self) -> list[dict[str, str]]:
        return every_pending(self.engine.world)
