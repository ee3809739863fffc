"""Finds out whether the cluster is the one that was mirrored before.

Why it exists: behind the same address may stand another cluster, whose lists prove no deletion, and to which nothing of
the first one may be written. Its id is the uid of the namespace kube-system. A cluster whose id can't be read, though
another was mirrored, is no known one: nothing is listed or written until the id can be read, or an operator approves.

State: the ids.
"""

from __future__ import annotations

from intentc.reconcile.failures import Denied

from .cluster import Cluster
from .discovery import IDENTIFYING_NAMESPACE, identity


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
