"""What a bridge knows of one mirrored kind: its watcher, its mark, and when it was last marked and listed again.

Why apart: ``marking``, ``approvals`` and ``status`` look at the same kinds; ``serving`` creates them.

Values only. State: that of one kind, with the revision of etcd at which its present list began.
"""

from __future__ import annotations

from intentc.model import Kind
from intentc.model.bridge_keys import Mark

from .informing import KindWatcher, Phase


class KindTask:
    """``mark``: the one in etcd, None if there is none."""

    def __init__(self, kind: Kind, watcher: KindWatcher, mark: Mark | None) -> None:
        self.kind = kind
        self.watcher = watcher
        self.mark = mark
        self.marked_at = float("-inf")
        self.relisted_at = float("-inf")
        self.list_began_at = 0
        """Up to which revision etcd was known when the present list began."""

    @property
    def is_listed(self) -> bool:
        """Whether all that the cluster has of the kind is known, which may be that it lacks the kind."""
        return self.watcher.informer.complete or self.watcher.state.phase is Phase.NOT_SERVED
