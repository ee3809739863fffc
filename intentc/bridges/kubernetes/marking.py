"""Decides which kinds deserve a mark, and writes the marks: etcd holds all that the cluster has of a kind.

Why it exists: compilers wait for the marks (``needs_synced``), and the next process notices by them that the cluster is
another one, or an older one. So a mark names the cluster and the version that was seen, and a kind whose deletions are
withheld keeps its former mark. A kind that the cluster does not have is marked as such. ``synced`` reads and writes the
keys.

State: none of its own. It sets the marks of ``KindTask``, and the cluster that ``ClusterIdentity`` takes for mirrored.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

from intentc import crashpoints
from intentc.model.bridge_keys import Mark

from .cluster_identity import ClusterIdentity
from .informing import Phase
from .kind_task import KindTask
from .mirror import Mirror
from .sending import Sender
from .synced import SyncedMarks

_LOG = logging.getLogger(__name__)
_MARK_SECONDS = 60.0
"""Between two marks of a kind that differ only in the version."""


class Marker:
    """Marks the kinds in ``tasks``, the first time once each object that compilers made has a manifest (``knows_all``):
    a compile before that would take an owner's objects for gone. ``not_served_seconds``: a kind that the cluster lacks
    for so long does not exist there. ``clock``: seconds."""

    def __init__(
        self,
        marks: SyncedMarks,
        tasks: Mapping[str, KindTask],
        mirror: Mirror,
        sender: Sender,
        identity: ClusterIdentity,
        knows_all: Callable[[], bool],
        not_served_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self._marks = marks
        self._tasks = tasks
        self._mirror = mirror
        self._sender = sender
        self._identity = identity
        self._knows_all = knows_all
        self._not_served_seconds = not_served_seconds
        self._clock = clock

    async def write(self, fence: str) -> None:
        """Write the marks that are due, while ``fence`` holds. Raises ``Failure``."""
        due: list[tuple[str, Mark]] = []
        for name, task in self._tasks.items():
            mark = self._present_mark(name, task)
            if mark is None or mark == task.mark:
                continue
            same = task.mark is not None and (mark.cluster, mark.served) == (task.mark.cluster, task.mark.served)
            if not (same and self._clock() - task.marked_at < _MARK_SECONDS):
                due.append((name, mark))
        if due and await self._marks.write(due, fence):
            crashpoints.reach("mark.written")
            for name, mark in due:
                if self._tasks[name].mark is None:
                    _LOG.info("%s is synced", name)
                self._tasks[name].mark, self._tasks[name].marked_at = mark, self._clock()
            self._identity.remember()

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
        if task.mark is None and not (self._sender.idle and self._mirror.is_copied(name, self._sender.rejected.keys())):
            return None
        return Mark(cluster, watcher.informer.version)
