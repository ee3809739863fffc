"""Carries out operators' approvals of withheld deletions (``intentc allow-deletes --mirrored``).

Why it exists: an approval is about what lists have shown, so it waits for them. Of another cluster it waits for all
kinds, since the last approval has that cluster mirrored. If it is unknown which cluster this is, nothing can be listed:
then an approval has it mirrored unless deletions of another kind are withheld.

State: none of its own. It changes the mirror and the cluster's identity, and withdraws the directives.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from intentc.directives import AllowDeletes, Book

from .cluster_identity import ClusterIdentity
from .kind_task import KindTask
from .mirror import Mirror

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
