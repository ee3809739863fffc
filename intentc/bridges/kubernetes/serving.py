"""Runs the Kubernetes bridge: the watches of both sides, the writes and the marks.

Every process watches both sides; the one that leads writes. It hands to each part what the watches show, reports of
problems included. The mirror compares with what etcd holds, not with what was written: whoever changes a copy, it shows
here. Once a second it looks which kinds need another list (30 seconds apart at least), withholds deletions of kinds
that the cluster lost, and has approvals carried out (``cluster_identity``), marks written (``marking``) and manifests
looked at (``manifest_reconciler``). ``bridge_status`` describes it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from anyio.abc import TaskGroup

from intentc.diagnostics.metrics import registry_of
from intentc.directives import Book
from intentc.leading import KeeperFactory, Leadership
from intentc.model import Key, Kind, Schema
from intentc.model.bridge_keys import Mark, problem_reports_prefix
from intentc.model.events import Batch, Snapshot
from intentc.reconcile import Loop, Pause, RequeueAfter, persist
from intentc.reconcile.backoff import RECONNECT
from intentc.watch.protocol import Store
from intentc.watch.source import Source
from intentc.writing.http import MirrorService

from ..process import LeadingProcess, ProcessSettings, with_deletions
from .bridge_status import metrics, status_of
from .cluster import Cluster
from .cluster_identity import Approvals, ClusterIdentity
from .compiled_problems import CompiledProblems
from .copy_writer import CopyWriter
from .event_recorder import Events, Regarding
from .fenced_writer import FencedService
from .informer import Complete, Deleted, Finding, Put
from .kind_watcher import KindTask, KindWatcher, Phase
from .made_objects import GroupVersionKind
from .manifest_answers import ManifestAnswers
from .manifest_reconciler import AT_ONCE, ManifestReconciler
from .marking import Marker
from .mirror import DeleteLimits, Mirror
from .owner_finalizers import OwnerFinalizers
from .problem_events import Note, Notes, ProblemEvents
from .projection import Projector
from .reporting import Reporter
from .rest_mapping import Served, manifest_kind
from .stored_manifests import FOLLOWED
from .wire import UNUSABLE

_LOG = logging.getLogger(__name__)
_LIMITS = DeleteLimits()
_TEND_SECONDS = 1.0
"""Between looks at what is complete, at directives, and at kinds that need another list."""
_RELIST_SECONDS = 30.0
"""Between two lists of a kind because of copies without an object."""
_NOT_SERVED_SECONDS = 30.0
"""A kind that the cluster lacks for so long does not exist there: CRDs appear some time after a server's start."""


@dataclass(frozen=True, kw_only=True)
class Settings(ProcessSettings):
    """``finalizers``: those of the compilers, which no cluster decides; ``makes``: the kinds of objects that compilers
    make, such as ``apps/v1/Deployment``; ``writes``: to the cluster at the same time."""

    finalizers: frozenset[str] = frozenset()
    limits: DeleteLimits = _LIMITS
    tend_seconds: float = _TEND_SECONDS
    not_served_seconds: float = _NOT_SERVED_SECONDS
    makes: frozenset[str] = frozenset()
    writes: int = AT_ONCE


def leader_of(installation: str) -> str:
    """Under which name the bridges of an installation elect one that writes, and find their directives."""
    return f"{installation}/kubernetes"


class Bridge(LeadingProcess):
    """The process between one cluster and one etcd. ``schema``: that of the compilers, whose manifests are carried out;
    None: resources are mirrored, nothing else."""

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        writer: MirrorService,
        kinds: Sequence[Kind],
        settings: Settings,
        *,
        schema: Schema | None = None,
        keepers: KeeperFactory | None = None,
    ) -> None:
        leader = leader_of(settings.installation)
        super().__init__(store, settings, leader, keepers)
        self.revision = 0
        """Up to which etcd is applied."""
        self.mirror = Mirror(settings.limits)
        service = FencedService(writer, self._fence, self.election.invalidate)
        self.copy_writer = CopyWriter(self.mirror, service)
        projectors = {kind.name: Projector(kind, settings.finalizers, settings.installation) for kind in kinds}
        statuses = {kind.name: kind.status for kind in kinds if kind.status is not None and not kind.status.is_input}
        self.reporter = Reporter(cluster, statuses, self._served, self._may_write)
        self.finalizers = OwnerFinalizers(
            cluster, settings.finalizers, self.mirror.name_of, self._served, self._may_write, self._owner_changed
        )
        self.registry = registry_of(lambda: metrics(self.status()))
        self.events = Events(cluster, self._owner, settings.process)
        reports = Source(store, problem_reports_prefix(settings.path.strip("/")), heartbeat=self.heartbeat)
        self.compiled_problems = CompiledProblems(reports)
        self.problem_events = ProblemEvents(
            self.events, self._problems, self._regarding, self._may_write, self._knows_problems, settings.tend_seconds
        )
        self.cluster = cluster
        self.identity = ClusterIdentity(cluster)
        self.tasks: dict[str, KindTask] = {}
        self.reconciler = self._reconciler(cluster, service, schema, settings)
        self._kinds = kinds
        self._projectors: Mapping[str, Projector] = projectors
        self._followed = FOLLOWED.union(projectors)
        self._known: set[tuple[str, str]] = set()
        """The resources in etcd of the kinds that are followed."""
        self._approvals = Approvals(Book(store, leader), self.tasks, self.mirror, self.identity)
        self._settings = settings
        self._tending: Loop[str] = Loop(
            lambda key: self._tend(),
            name="the marks can't be written yet",
            backoff=RECONNECT,
            pause=Pause(RECONNECT),
        )
        self._could_write = False
        self._term: str | None = None
        """The fence with which the marks were read last."""
        self._marker = Marker(
            store,
            settings.path.strip("/"),
            leader,
            self.tasks,
            self.mirror,
            self.copy_writer,
            self.identity,
            lambda: self.reconciler is None or self.reconciler.knows_all,
            settings.not_served_seconds,
        )

    def _reconciler(
        self, cluster: Cluster, service: FencedService, schema: Schema | None, settings: Settings
    ) -> ManifestReconciler | None:
        """What carries out manifests; None if no compiler makes any."""
        if schema is None or not schema.kinds.keys() >= FOLLOWED:
            return None
        return ManifestReconciler(
            cluster,
            settings.installation,
            schema,
            service,
            self.identity.ask,
            self.events,
            self.finalizers.lacks,
            declared=[GroupVersionKind(*one.rsplit("/", 1)) for one in sorted(settings.makes)],
            not_served_seconds=settings.not_served_seconds,
            at_once=settings.writes,
        )

    async def work(self, group: TaskGroup) -> None:
        marks = await persist(self._marker.read, "the marks can't be read", log=_LOG)
        self.identity.mirrored = next((mark.cluster for mark in marks.values() if mark.cluster), "")
        for kind in self._kinds:
            task = self._task(kind, marks.get(kind.name))
            group.start_soon(task.watcher.run)
        group.start_soon(self.copy_writer.loop.run)
        group.start_soon(self.reporter.loop.run)
        group.start_soon(self.finalizers.loop.run)
        group.start_soon(self.compiled_problems.run)
        group.start_soon(self.problem_events.loop.run)
        if self.reconciler is not None:
            group.start_soon(self.reconciler.run)
        self._tending.add("marks", after=self._settings.tend_seconds)
        group.start_soon(self._tending.run)

    def lacks(self) -> Iterator[str]:
        yield from super().lacks()
        if not self.tasks:
            yield "the cluster: not asked yet"
        for name, task in self.tasks.items():
            # A kind that is not installed may never be.
            if task.watcher.state.phase not in (Phase.WATCHING, Phase.NOT_SERVED):
                phase, _, error = task.watcher.state
                yield f"{name}: {phase.value}" + (f" ({error})" if error else "")

    def status(self) -> dict[str, Any]:
        """The status as JSON."""
        return status_of(self)

    def _task(self, kind: Kind, mark: Mark | None) -> KindTask:
        watcher = KindWatcher(
            self.cluster,
            manifest_kind(kind),
            partial(self._apply, kind.name),
            self.identity.ask,
            version=mark.version if mark is not None else "",
            on_list=partial(self._list_begins, kind.name),
        )
        task = self.tasks[kind.name] = KindTask(kind, watcher, mark)
        return task

    def _fence(self) -> str | None:
        return None if self.identity.doubt else self.election.fence()

    def _may_write(self) -> bool:
        return self._fence() is not None

    @property
    def parts(self) -> tuple[CopyWriter | Reporter | OwnerFinalizers | ManifestReconciler | ManifestAnswers, ...]:
        """The parts that write."""
        carried = (self.reconciler, self.reconciler.answers) if self.reconciler is not None else ()
        return (self.copy_writer, self.reporter, self.finalizers, *carried)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be written, under way, or awaited."""
        carried = self.reconciler is None or self.reconciler.idle
        return self.copy_writer.idle and self.reporter.loop.settled and self.finalizers.loop.settled and carried

    def take(self, item: Snapshot | Batch) -> None:
        for change in with_deletions(item, self._followed, self._known):
            key, value = Key(change.kind, change.uuid), change.value
            if value is None:
                self._known.discard((change.kind, change.uuid))
            else:
                self._known.add((change.kind, change.uuid))
            if key.kind in FOLLOWED:
                if self.reconciler is not None:
                    self.reconciler.note(key, value, change.mod_revision)
                continue
            projector = self._projectors[key.kind]
            self.mirror.stored(key, projector.stored(value, change.mod_revision) if value is not None else None)
            self.reporter.stored(key, value)
            self.finalizers.stored(key, value)
        self.revision = item.revision
        self.copy_writer.applied(self.revision)
        if self.reconciler is not None:
            self.reconciler.applied(self.revision)

    def _owner_changed(self) -> None:
        if self.reconciler is not None:
            self.reconciler.owner_changed()

    def _owner(self, uuid: str) -> Regarding | None:
        """The object of the cluster with this uid; None if it is not mirrored."""
        found = (self._regarding(Key(name, uuid)) for name in self.tasks)
        return next((one for one in found if one is not None), None)

    def _regarding(self, key: Key) -> Regarding | None:
        """The object of the cluster under a key; None if it is not known, or its kind not served."""
        task, identity = self.tasks.get(key.kind), self.mirror.name_of(key)
        served = task.watcher.served if task is not None else None
        if task is None or identity is None or served is None:
            return None
        version = self.reporter.resource_version(key)
        return Regarding(served.version, manifest_kind(task.kind).name, identity, key.uuid, version)

    def _problems(self) -> Notes:
        """Why objects can't be mirrored, and what compilers report of mirrored ones."""
        unusable = {key: reason for key, (_, reason) in self.mirror.unusable.items()}
        unmirrored = {**unusable, **self.copy_writer.rejected}
        found = self.compiled_problems.notes
        return found | {
            key: (Note("NotMirrored", "Mirror", reason), *found.get(key, ())) for key, reason in unmirrored.items()
        }

    def _knows_problems(self) -> bool:
        """Whether the problems from before this process led are known: the lists of both sides are, and what the API
        server rejects."""
        are_listed = all(task.is_listed or task.watcher.state.phase is Phase.DENIED for task in self.tasks.values())
        return are_listed and self.compiled_problems.is_known and self.copy_writer.pending == 0

    def _served(self, name: str) -> Served | None:
        task = self.tasks.get(name)
        return task.watcher.served if task is not None else None

    def _list_begins(self, name: str) -> None:
        self.tasks[name].list_began_at = self.revision

    def _apply(self, name: str, findings: list[Finding]) -> None:
        projector, mirror, served = self._projectors[name], self.mirror, self.tasks[name].watcher.served
        version = served.version if served is not None else ""
        for finding in findings:
            match finding:
                case Put(found):
                    key = Key(name, found.uid)
                    self.reporter.live(key, found.body)
                    self.finalizers.live(key, found.body)
                    fingerprint = projector.fingerprint(found.body, version)
                    if mirror.knows(key, fingerprint):
                        continue
                    try:
                        mirror.put(key, projector.wanted(found.body, version)._replace(fingerprint=fingerprint))
                    except UNUSABLE as error:
                        _LOG.warning("%s %s can't be mirrored: %s", name, found.identity, error)
                        mirror.cannot_copy(key, found.identity, str(error) or type(error).__name__)
                case Deleted(found):
                    mirror.deleted(Key(name, found.uid))
                    self.reporter.live(Key(name, found.uid), None)
                    self.finalizers.live(Key(name, found.uid), None)
                case Complete(seen, doubt):
                    self._complete(name, frozenset(uid for _, uid in seen), doubt)
        if mirror.has_dirty:
            self.copy_writer.wake()

    def _complete(self, name: str, uids: frozenset[str], doubt: str) -> None:
        if not doubt and not uids and not self.identity.present and self.mirror.counts(name)[1]:
            doubt = "the list is empty, and it is not known whether this is the same cluster"
        if doubt:
            _LOG.error("%s: the list of the cluster deletes nothing: %s", name, doubt)
        self.reporter.listed(name, uids)
        self.finalizers.listed(name, uids)
        self.mirror.listed(name, uids, doubt, self.tasks[name].list_began_at)

    def on_won(self, leadership: Leadership) -> None:
        self._look_at_all()

    def on_lost(self, reason: str) -> None:
        self.copy_writer.wake()

    def _look_at_all(self) -> None:
        """Look at everything: this process may write now."""
        self.mirror.look_at_all()
        self.reporter.look_at_all()
        self.finalizers.look_at_all()
        if self.reconciler is not None:
            self.reconciler.look_at_all()
        self.copy_writer.wake()

    async def _tend(self) -> RequeueAfter:
        """Write the marks, obey approvals, and list again what needs it."""
        self._list_again()
        self._hold_lost_kinds()
        if self.reconciler is not None:
            self.reconciler.tend()
        could_write, self._could_write = self._could_write, self._fence() is not None
        if self._could_write and not could_write:
            # The doubt about the cluster may be over.
            self._look_at_all()
        fence = self.election.fence()
        if fence is not None:
            if fence != self._term:
                # Another process led meanwhile, or the store was emptied, the leader's key included.
                marks = await self._marker.read()
                for name, task in self.tasks.items():
                    task.mark = marks.get(name)
                self._term = fence
            if await self._approvals.obey():
                self._look_at_all()
            if not self.identity.doubt:
                await self._marker.write(fence)
        return RequeueAfter(self._settings.tend_seconds)

    def _hold_lost_kinds(self) -> None:
        """Withhold the deletion of copies whose kind the cluster no longer serves: its definition may be back soon."""
        for name, task in self.tasks.items():
            phase, since, _ = task.watcher.state
            is_lost = phase is Phase.NOT_SERVED and time.time() - since >= self._settings.not_served_seconds
            if not is_lost or name in self.mirror.withheld or not self.mirror.counts(name)[1]:
                continue
            self.reporter.listed(name, frozenset())
            self.mirror.listed(name, frozenset(), "the cluster no longer serves this kind", self.revision)
            if name in self.mirror.withheld:
                _LOG.error("the cluster no longer serves %s; its copies stay until their deletion is approved", name)

    def _list_again(self) -> None:
        for name in list(self.mirror.unexplained):
            task = self.tasks[name]
            if task.watcher.informer.complete and time.monotonic() - task.relisted_at >= _RELIST_SECONDS:
                task.relisted_at = time.monotonic()
                task.watcher.list_again()
