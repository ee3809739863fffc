"""Watches the kinds of objects that manifests name, by our label, and says what is known of each kind.

A kind is watched from the moment that a manifest names it, or from the start if a compiler declares that it makes
objects of it. Without the declaration, objects whose manifests the store has lost would not be found.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from enum import Enum
from functools import partial

from anyio.abc import TaskGroup

from intentc.outgoing import INSTALLATION_LABEL

from .cluster import Cluster
from .informer import Finding
from .kind_watcher import KindWatcher, Phase
from .made_objects import GroupVersionKind
from .rest_mapping import ManifestKind, Served


class Readiness(Enum):
    """What is known of a kind's objects. KNOWN: all. UNKNOWN: not yet. ABSENT: the cluster does not serve the kind.
    DENIED: we may not list it."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    ABSENT = "absent"
    DENIED = "denied"


class MadeKinds:
    """``apply`` is called with what the watches find; ``doubt`` says whether the cluster may be another one."""

    def __init__(
        self,
        cluster: Cluster,
        installation: str,
        apply: Callable[[GroupVersionKind, list[Finding]], None],
        doubt: Callable[[], Awaitable[str]],
        declared: Iterable[GroupVersionKind] = (),
    ) -> None:
        self.watchers: dict[GroupVersionKind, KindWatcher] = {}
        self._cluster = cluster
        self._selector = f"{INSTALLATION_LABEL}={installation}"
        self._apply = apply
        self._doubt = doubt
        self._group: TaskGroup | None = None
        self._readiness: dict[GroupVersionKind, Readiness] = {}
        for sort in declared:
            self.want(sort)

    def start(self, group: TaskGroup) -> None:
        """Watch in ``group``."""
        self._group = group
        for watcher in self.watchers.values():
            group.start_soon(watcher.run)

    def want(self, sort: GroupVersionKind) -> None:
        """Watch a sort of objects, if that is not done yet."""
        if sort in self.watchers:
            return
        watcher = KindWatcher(
            self._cluster,
            ManifestKind(sort.kind, (sort.version,)),
            partial(self._apply, sort),
            self._doubt,
            selector=self._selector,
        )
        self.watchers[sort] = watcher
        if self._group is not None:
            self._group.start_soon(watcher.run)

    def served(self, sort: GroupVersionKind) -> Served | None:
        """Where a sort is served; None while that is not known."""
        return self.watchers[sort].served

    def readiness(self, sort: GroupVersionKind) -> Readiness:
        """What is known of the objects of a sort."""
        watcher = self.watchers[sort]
        if watcher.state.phase is Phase.NOT_SERVED:
            return Readiness.ABSENT
        if watcher.informer.complete and watcher.served is not None:
            return Readiness.KNOWN
        return Readiness.DENIED if watcher.state.phase is Phase.DENIED else Readiness.UNKNOWN

    def absent_seconds(self, sort: GroupVersionKind) -> float:
        """How long the cluster has not served a sort."""
        return time.time() - self.watchers[sort].state.since

    def changed(self) -> list[GroupVersionKind]:
        """The sorts of which something else is known than at the last call."""
        now = {sort: self.readiness(sort) for sort in self.watchers}
        found = [sort for sort, readiness in now.items() if self._readiness.get(sort) is not readiness]
        self._readiness = now
        return found

    @property
    def are_listed(self) -> bool:
        """Whether all objects that carry our label are known, as far as the cluster serves their kinds."""
        return all(self.readiness(sort) in (Readiness.KNOWN, Readiness.ABSENT) for sort in self.watchers)
