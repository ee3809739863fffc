"""Finds out whether the cluster is the one that was mirrored before, and obeys approvals of withheld deletions.

Why it exists: behind the same address may stand another cluster, whose lists prove no deletion, and to which nothing of
the first one may be written. Its id is the uid of the namespace kube-system. A cluster whose id can't be read, though
another was mirrored, is no known one: nothing is listed or written until the id can be read, or an operator approves.

An approval (``intentc allow-deletes --mirrored``) is about what lists have shown, so it waits for them. Of another
cluster it waits for all kinds, since the last approval has that cluster mirrored. If it is unknown which cluster this
is, nothing can be listed: then an approval has it mirrored unless deletions of another kind are withheld.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from intentc.directives import AllowDeletes, Book
from intentc.reconcile.failures import Denied

from .cluster import Cluster
from .kind_watcher import KindTask
from .mirror import Mirror
from .rest_mapping import IDENTIFYING_NAMESPACE, identity


class ClusterIdentity:
    """``present``: the id of the cluster, empty if it can't be read; None before it was asked. ``mirrored``: that of
    the cluster that was mirrored, empty if it is not known."""

    def __init__(self, cluster: Cluster) -> None:
        self.present: str | None = None
        self.mirrored = ""
        self._cluster = cluster

    async def ask(self) -> str:
        """Read the id, and return the doubt. Raises ``Failure``: ``Denied`` if another cluster was mirrored,
        and that of this one can't be read."""
        self.present = await identity(self._cluster)
        if self.is_unreadable:
            raise Denied(self.doubt)
        return self.doubt

    @property
    def doubt(self) -> str:
        """Why the cluster may be another one than that which was mirrored, or empty: then nothing is written until an
        operator approves."""
        if self.is_unreadable:
            return (
                f"it is unknown which cluster this is, and {self.mirrored} was mirrored: grant `get` of the namespace "
                f"{IDENTIFYING_NAMESPACE}"
            )
        if self.present and self.mirrored and self.present != self.mirrored:
            return f"this is cluster {self.present}, and {self.mirrored} was mirrored"
        return ""

    @property
    def is_unreadable(self) -> bool:
        """Whether a cluster was mirrored, and it can't be known whether this is the one."""
        return self.present == "" and bool(self.mirrored)

    def accept(self) -> None:
        """Mirror this cluster from now on, whichever it is."""
        self.mirrored = self.present or ""

    def remember(self) -> None:
        """Note that this cluster is mirrored, if none was before."""
        self.mirrored = self.mirrored or self.present or ""


_LOG = logging.getLogger(__name__)


class Approvals:
    """Approves for the kinds in ``tasks``."""

    def __init__(self, book: Book, tasks: Mapping[str, KindTask], mirror: Mirror, identity: ClusterIdentity) -> None:
        self._book = book
        self._tasks = tasks
        self._mirror = mirror
        self._identity = identity

    async def obey(self) -> bool:
        """Carry out what can be carried out now; whether there was something. Raises ``Failure``."""
        obeyed = False
        for kept in await self._book.list():
            if not isinstance(kept.directive, AllowDeletes) or not self._is_due(kept.directive.kind):
                continue
            # First: a process that is killed here has carried out nothing, and no later one carries it out unseen.
            if not await self._book.withdraw(kept):
                continue
            number = self._mirror.approve(kept.directive.kind)
            _LOG.warning("%d deletes of copies of %s are approved", number, kept.directive.kind)
            if self._identity.doubt and not self._mirror.withheld:
                _LOG.warning("cluster %s is mirrored from now on", self._identity.present or "(unknown)")
                self._identity.accept()
            obeyed = True
        return obeyed

    def _is_due(self, name: str) -> bool:
        """Whether it is known what an approval for this kind approves."""
        if self._identity.is_unreadable:
            return name in self._tasks
        tasks = self._tasks.values() if self._identity.doubt else [self._tasks[name]] if name in self._tasks else []
        return all(task.is_listed for task in tasks)
