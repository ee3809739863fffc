"""Keeps a mark in etcd for each kind: that etcd holds all that the cluster had, and which cluster that was.

Why it exists: before a kind was listed completely, "there is none" means nothing, and a compiler that needs the whole
must not compile (``needs_synced``). The next process notices by the marks that the cluster is another one, or an older
one; so a mark names the cluster and the version that was seen, and a kind whose deletions are withheld keeps its former
mark. A kind that the cluster does not have is marked as such. ``model/bridge_keys.py`` has the form of the marks.

The marks are keys of etcd: ``/intentc/synced/<path>/<kind>``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping

import msgspec

from intentc import crashpoints
from intentc.model.bridge_keys import Mark, synced_key, synced_prefix
from intentc.watch.keys import leader_key
from intentc.watch.protocol import Compare, Put, Relation, Store, Target, prefix_end

from .cluster_identity import ClusterIdentity
from .copy_writer import CopyWriter
from .kind_watcher import KindTask, Phase
from .mirror import Mirror

_LOG = logging.getLogger(__name__)
_MARK_SECONDS = 60.0
"""Between two marks of a kind that differ only in the version."""


class Marker:
    """Marks the kinds in ``tasks``, the first time once each object that compilers made has a manifest (``knows_all``):
    a compile before that would take an owner's objects for gone. ``path``: below which the kinds are in etcd;
    ``leader``: the installation part of our fence. ``not_served_seconds``: a kind that the cluster lacks for so long
    does not exist there."""

    def __init__(
        self,
        store: Store,
        path: str,
        leader: str,
        tasks: Mapping[str, KindTask],
        mirror: Mirror,
        copy_writer: CopyWriter,
        identity: ClusterIdentity,
        knows_all: Callable[[], bool],
        not_served_seconds: float,
    ) -> None:
        self._store = store
        self._path = path
        self._leader = leader
        self._tasks = tasks
        self._mirror = mirror
        self._copy_writer = copy_writer
        self._identity = identity
        self._knows_all = knows_all
        self._not_served_seconds = not_served_seconds

    async def read(self) -> dict[str, Mark]:
        """Kind → its mark; unreadable ones are left out. Raises ``Failure``."""
        prefix = synced_prefix(self._path)
        found = await self._store.range(prefix, prefix_end(prefix))
        marks = {}
        for item in found.items:
            try:
                marks[item.key.removeprefix(prefix)] = msgspec.json.decode(item.value, type=Mark)
            except msgspec.MsgspecError:
                continue
        return marks

    async def write(self, fence: str) -> None:
        """Write the marks that are due, while ``fence`` holds. Raises ``Failure``."""
        due: list[tuple[str, Mark]] = []
        for name, task in self._tasks.items():
            mark = self._present_mark(name, task)
            if mark is None or mark == task.mark:
                continue
            same = task.mark is not None and (mark.cluster, mark.served) == (task.mark.cluster, task.mark.served)
            if not (same and time.monotonic() - task.marked_at < _MARK_SECONDS):
                due.append((name, mark))
        if due and await self._put(due, fence):
            crashpoints.reach("mark.written")
            for name, mark in due:
                if self._tasks[name].mark is None:
                    _LOG.info("%s is synced", name)
                self._tasks[name].mark, self._tasks[name].marked_at = mark, time.monotonic()
            self._identity.remember()

    async def _put(self, marks: Iterable[tuple[str, Mark]], fence: str) -> bool:
        """Put marks; False if ``fence`` is over. Raises ``Failure``."""
        revision = int(fence.rpartition("/")[2])
        leads = Compare(leader_key(self._leader), Target.CREATE_REVISION, Relation.EQUAL, revision)
        puts = [Put(synced_key(self._path, kind), msgspec.json.encode(mark)) for kind, mark in marks]
        return (await self._store.transaction([leads], puts)).succeeded

    def _present_mark(self, name: str, task: KindTask) -> Mark | None:
        """The mark that a kind deserves now; None if it has to wait."""
        watcher, state = task.watcher, task.watcher.state
        cluster = self._identity.present or ""
        if name in self._mirror.withheld:
            # The former mark must show to a process that starts now that this is another cluster.
            return None
        if state.phase is Phase.NOT_SERVED:
            long = time.time() - state.since >= self._not_served_seconds
            nothing = self._mirror.counts(name) == (0, 0)
            return Mark(cluster, "", served=False) if long and nothing else None
        if not watcher.informer.complete:
            return None
        if task.mark is None and not self._knows_all():
            return None
        if task.mark is None and not (
            self._copy_writer.idle and self._mirror.is_copied(name, self._copy_writer.rejected.keys())
        ):
            return None
        return Mark(cluster, watcher.informer.version)
