"""Runs the Kubernetes bridge: the watches of both sides, the election, the writes and the marks.

Why it exists: ``intentc kubernetes``, ``intentc dev`` and the tests share it. Every process watches both sides; the one
that leads writes. Callers handle commands and signals.

State: the tasks, and what identifies the cluster; the parts keep their own. I/O: that of the parts.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, NamedTuple

import anyio
import msgspec

from intentc.directives import AllowDeletes, Book
from intentc.leading import DEFAULT_TTL_SECONDS, Election, KeeperFactory, Leadership
from intentc.model import Key, Kind
from intentc.model.synced import Mark
from intentc.watch.heartbeat import Heartbeat
from intentc.watch.protocol import Store, StoreError
from intentc.watch.source import Source

from .cluster import Cluster
from .discovery import Served, identity
from .informer import Complete, Deleted, Finding, Put
from .informing import KindWatcher, Phase
from .metrics import registry_of
from .mirror import DeleteLimits, Mirror
from .mirrored_kinds import manifest_kind
from .projection import Projector
from .reporting import Reporter
from .sending import Sender, Writer
from .stored import StoredCopies
from .synced import SyncedMarks

_LOG = logging.getLogger(__name__)
_TEND_SECONDS = 1.0
"""Between looks at what is complete, at directives, and at kinds that need another list."""
_MARK_SECONDS = 60.0
"""Between two marks of a kind that differ only in the version."""
_RELIST_SECONDS = 30.0
"""Between two lists of a kind because of copies without an object."""
_NOT_SERVED_SECONDS = 30.0
"""A kind that the cluster lacks for so long does not exist there: CRDs appear some time after a server's start."""
_SHOWN = 100


class Settings(NamedTuple):
    """``path``: of resources in etcd; ``installation``; ``process``: this one, for people; ``finalizers``: those of the
    compilers, which no cluster decides."""

    path: str
    installation: str
    process: str
    finalizers: frozenset[str] = frozenset()
    limits: DeleteLimits = DeleteLimits()
    ttl: int = DEFAULT_TTL_SECONDS
    heartbeat_seconds: float = 5.0
    tend_seconds: float = _TEND_SECONDS
    not_served_seconds: float = _NOT_SERVED_SECONDS


def leader_of(installation: str) -> str:
    """Under which name the bridges of an installation elect one that writes, and find their directives."""
    return f"{installation}/kubernetes"


class _KindTask:
    """What is known of one kind beyond its watcher."""

    def __init__(self, kind: Kind, watcher: KindWatcher, mark: Mark | None) -> None:
        self.kind = kind
        self.watcher = watcher
        self.mark = mark
        self.marked_at = -_MARK_SECONDS
        self.relisted_at = -_RELIST_SECONDS
        self.list_began_at = 0
        """Up to which revision etcd was known when the present list began."""


class Bridge:
    """A bridge between one cluster and one etcd, created by ``running_bridge``. It is ``diagnostics.Observed``."""

    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        writer: Writer,
        kinds: Sequence[Kind],
        settings: Settings,
        *,
        keepers: KeeperFactory | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._leader = leader_of(settings.installation)
        self.mirror = Mirror(settings.limits)
        self.election = Election(
            store,
            self._leader,
            settings.process,
            ttl=settings.ttl,
            versions={},
            on_won=self._on_won,
            on_lost=lambda reason: self.sender.wake(),
            keepers=keepers,
        )
        self.sender = Sender(self.mirror, writer, self._fence, self.election.invalidate)
        projectors = {kind.name: Projector(kind, settings.finalizers) for kind in kinds}
        heartbeat = Heartbeat(settings.installation, settings.process, interval=settings.heartbeat_seconds)
        source = Source(store, f"/{settings.path.strip('/')}/", heartbeat=heartbeat)
        statuses = {kind.name: kind.status for kind in kinds if kind.status is not None and not kind.status.is_input}
        self.reporter = Reporter(
            cluster, settings.installation, statuses, self._served, lambda: self._fence() is not None
        )
        self.copies = StoredCopies(source, projectors, self.mirror, self._applied, self.reporter.stored)
        self.registry = registry_of(self.status)
        self.cluster_id = ""
        self.tasks: dict[str, _KindTask] = {}
        self._kinds = kinds
        self._cluster = cluster
        self._projectors: Mapping[str, Projector] = projectors
        self._marks = SyncedMarks(store, settings.installation, self._leader)
        self._book = Book(store, self._leader)
        self._settings = settings
        self._clock = clock
        self._known_cluster = ""

    async def run(self) -> None:
        """Mirror until cancelled; then resign."""
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self.copies.run)
                group.start_soon(self.copies.source.run_heartbeat)
                group.start_soon(self.election.run)
                await self.copies.listed.wait()
                marks = await self._read_marks()
                self._known_cluster = next((mark.cluster for mark in marks.values() if mark.cluster), "")
                for kind in self._kinds:
                    task = self._task(kind, marks.get(kind.name))
                    group.start_soon(task.watcher.run)
                group.start_soon(self.sender.run)
                group.start_soon(self.reporter.run)
                group.start_soon(self._tend)
        finally:
            with anyio.CancelScope(shield=True):
                await self.election.resign()

    def healthy(self) -> bool:
        """Whether the bridge works."""
        return self.copies.listed.is_set()

    def ready(self) -> tuple[bool, tuple[str, ...]]:
        """Whether etcd and the cluster are watched; and the reasons if not."""
        reasons = []
        state = self.copies.source.state
        if not state.ready:
            reasons.append(f"etcd: {state.phase.value}" + (f" ({state.last_error})" if state.last_error else ""))
        if not self.tasks:
            reasons.append("the cluster: not asked yet")
        for name, task in self.tasks.items():
            # A kind that is not installed may never be.
            if task.watcher.state.phase not in (Phase.WATCHING, Phase.NOT_SERVED):
                phase, _, error = task.watcher.state
                reasons.append(f"{name}: {phase.value}" + (f" ({error})" if error else ""))
        return not reasons, tuple(reasons)

    def pending(self) -> list[dict[str, str]]:
        """Nothing: a bridge has no references."""
        return []

    def status(self) -> dict[str, Any]:
        """The status as JSON."""
        kinds = {name: self._kind_status(name, task) for name, task in self.tasks.items()}
        return {
            "converged": bool(kinds) and self.sender.idle and all(one["synced"] for one in kinds.values()),
            "leading": self.election.fence() is not None,
            "leader": self.election.leader() or "",
            "cluster": self._cluster.server,
            "cluster_id": self.cluster_id,
            "applied_revision": self.copies.revision,
            "pending_writes": self.sender.pending,
            "last_error": self.sender.last_error,
            "counters": dict(self.sender.counters + self.reporter.counters),
            "kinds": kinds,
            "withheld_deletes": [
                f"{kind} {key.uuid}"
                for kind, held in self.mirror.withheld.items()
                for key in sorted(held.keys)[:_SHOWN]
            ],
            "attention": self._attention(),
        }

    def _kind_status(self, name: str, task: _KindTask) -> dict[str, Any]:
        objects, copies = self.mirror.counts(name)
        watcher = task.watcher
        held = self.mirror.withheld.get(name)
        return {
            "phase": watcher.state.phase.value,
            "error": watcher.state.error,
            "served": watcher.served.path if watcher.served is not None else "",
            "version": watcher.informer.version,
            "objects": objects,
            "copies": copies,
            "synced": task.mark is not None,
            "rejected": sum(key.kind == name for key in (*self.mirror.unusable, *self.sender.rejected)),
            "withheld_deletes": len(held.keys) if held is not None else 0,
            "counters": dict(watcher.counters),
        }

    def _attention(self) -> list[str]:
        another = self._is_another()
        found = [f"nothing is written: {another}; see withheld_deletes"] if another else []
        found += [
            f"{len(held.keys)} copies of {kind} are not deleted: {held.reason}; if that is intended, "
            f"`intentc allow-deletes --mirrored {kind}`"
            for kind, held in self.mirror.withheld.items()
        ]
        for key, (who, reason) in list(self.mirror.unusable.items())[:_SHOWN]:
            found.append(f"{key.kind} {who} is not mirrored: {reason}")
        for key, reason in list(self.sender.rejected.items())[:_SHOWN]:
            found.append(f"{key.kind} {self.mirror.name_of(key) or key.uuid} is not mirrored: {reason}")
        for key, reason in list(self.reporter.rejected.items())[:_SHOWN]:
            named = self.mirror.name_of(key) or key.uuid
            found.append(f"the status of {key.kind} {named} is not written to the cluster: {reason}")
        for name in self.tasks:
            for who, uuid in list(self.mirror.taken_names(name))[:_SHOWN]:
                found.append(f"{name} {who} is not mirrored: {uuid} in etcd has its name, and no bridge wrote that")
        return found

    async def _read_marks(self) -> dict[str, Mark]:
        while True:
            try:
                return await self._marks.read()
            except StoreError as error:
                _LOG.warning("the marks can't be read yet: %s", error)
                await anyio.sleep(self._settings.tend_seconds)

    def _task(self, kind: Kind, mark: Mark | None) -> _KindTask:
        watcher = KindWatcher(
            self._cluster,
            manifest_kind(kind),
            partial(self._apply, kind.name),
            self._doubt,
            version=mark.version if mark is not None else "",
            on_list=partial(self._list_begins, kind.name),
        )
        task = self.tasks[kind.name] = _KindTask(kind, watcher, mark)
        return task

    async def _doubt(self) -> str:
        """Why the cluster may be another one than that which was mirrored."""
        found = await identity(self._cluster)
        self.cluster_id = found or self.cluster_id
        return self._is_another()

    def _is_another(self) -> str:
        """Whether the cluster is another one, in words: then nothing is written until an operator approves."""
        if self.cluster_id and self._known_cluster and self.cluster_id != self._known_cluster:
            return f"this is cluster {self.cluster_id}, and {self._known_cluster} was mirrored"
        return ""

    def _fence(self) -> str | None:
        return None if self._is_another() else self.election.fence()

    def _served(self, name: str) -> Served | None:
        task = self.tasks.get(name)
        return task.watcher.served if task is not None else None

    def _list_begins(self, name: str) -> None:
        self.tasks[name].list_began_at = self.copies.revision

    def _apply(self, name: str, findings: list[Finding]) -> None:
        projector, mirror, served = self._projectors[name], self.mirror, self.tasks[name].watcher.served
        version = served.version if served is not None else ""
        for finding in findings:
            match finding:
                case Put(found):
                    key = Key(name, found.uid)
                    self.reporter.live(key, found.body)
                    try:
                        mirror.put(key, projector.wanted(found.body, version))
                    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                        _LOG.warning("%s %s can't be mirrored: %s", name, found.identity, error)
                        mirror.cannot_copy(key, found.identity, str(error))
                case Deleted(found):
                    mirror.deleted(Key(name, found.uid))
                    self.reporter.live(Key(name, found.uid), None)
                case Complete(seen, doubt):
                    self._complete(name, frozenset(uid for _, uid in seen), doubt)
        if mirror.has_dirty:
            self.sender.wake()

    def _complete(self, name: str, uids: frozenset[str], doubt: str) -> None:
        if not doubt and not uids and not self.cluster_id and self.mirror.counts(name)[1]:
            doubt = "the list is empty, and it is not known whether this is the same cluster"
        if doubt:
            _LOG.error("%s: the list of the cluster deletes nothing: %s", name, doubt)
        self.reporter.listed(name, uids)
        self.mirror.listed(name, uids, doubt, self.tasks[name].list_began_at)

    def _applied(self) -> None:
        self.sender.applied(self.copies.revision)

    def _on_won(self, leadership: Leadership) -> None:
        self.mirror.look_at_all()
        self.reporter.look_at_all()
        self.sender.wake()

    async def _tend(self) -> None:
        """Write the marks, obey approvals, and list again what needs it."""
        while True:
            await anyio.sleep(self._settings.tend_seconds)
            self._list_again()
            fence = self.election.fence()
            if fence is None:
                continue
            try:
                await self._obey()
                if not self._is_another():
                    await self._mark(fence)
            except StoreError as error:
                _LOG.debug("the marks can't be written yet: %s", error)

    def _list_again(self) -> None:
        for name in list(self.mirror.unexplained):
            task = self.tasks[name]
            if task.watcher.informer.complete and self._clock() - task.relisted_at >= _RELIST_SECONDS:
                task.relisted_at = self._clock()
                task.watcher.list_again()

    async def _obey(self) -> None:
        for kept in await self._book.list():
            if not isinstance(kept.directive, AllowDeletes) or not self._is_listed(kept.directive.kind):
                continue
            number = self.mirror.approve(kept.directive.kind)
            _LOG.warning("%d deletes of copies of %s are approved", number, kept.directive.kind)
            if self._is_another() and not self.mirror.withheld:
                _LOG.warning("cluster %s is mirrored from now on", self.cluster_id)
                self._known_cluster = self.cluster_id
            await self._book.withdraw(kept)
            self.sender.wake()
            self.reporter.look_at_all()

    def _is_listed(self, name: str) -> bool:
        """Whether it is known what an approval for this kind approves. That of another cluster waits for all kinds,
        since the last one has it mirrored."""
        tasks = self.tasks.values() if self._is_another() else [self.tasks[name]] if name in self.tasks else []
        return all(task.watcher.informer.complete or task.watcher.state.phase is Phase.NOT_SERVED for task in tasks)

    async def _mark(self, fence: str) -> None:
        due: list[tuple[str, Mark]] = []
        for name, task in self.tasks.items():
            mark = self._present_mark(name, task)
            if mark is None or mark == task.mark:
                continue
            same = task.mark is not None and (mark.cluster, mark.served) == (task.mark.cluster, task.mark.served)
            if not (same and self._clock() - task.marked_at < _MARK_SECONDS):
                due.append((name, mark))
        if due and await self._marks.write(due, fence):
            for name, mark in due:
                if self.tasks[name].mark is None:
                    _LOG.info("%s is synced", name)
                self.tasks[name].mark, self.tasks[name].marked_at = mark, self._clock()
            self._known_cluster = self._known_cluster or self.cluster_id

    def _present_mark(self, name: str, task: _KindTask) -> Mark | None:
        """The mark that a kind deserves now; None if it has to wait."""
        watcher, state = task.watcher, task.watcher.state
        if name in self.mirror.withheld:
            # The former mark must show to a process that starts now that this is another cluster.
            return None
        if state.phase is Phase.NOT_SERVED:
            long = time.time() - state.since >= self._settings.not_served_seconds
            nothing = self.mirror.counts(name) == (0, 0)
            return Mark(self.cluster_id, "", served=False) if long and nothing else None
        if not watcher.informer.complete:
            return None
        if task.mark is None and not (self.sender.idle and self.mirror.is_copied(name, self.sender.rejected.keys())):
            return None
        return Mark(self.cluster_id, watcher.informer.version)


@asynccontextmanager
async def running_bridge(
    cluster: Cluster,
    store: Store,
    writer: Writer,
    kinds: Sequence[Kind],
    settings: Settings,
    *,
    keepers: KeeperFactory | None = None,
) -> AsyncIterator[Bridge]:
    """A bridge at work until the block is left; then it resigns, so that another process takes over at once."""
    bridge = Bridge(cluster, store, writer, kinds, settings, keepers=keepers)
    async with anyio.create_task_group() as group:
        group.start_soon(bridge.run)
        try:
            yield bridge
        finally:
            group.cancel_scope.cancel()
