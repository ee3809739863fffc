"""Delivers directives to the engine: lists, watches, and withdraws what is done.

A directive must be known before anything is evaluated, must reach every process whatever happens to the watch, and must
be deleted once it is done, but only by the leader: a standby takes the same actions and withdraws nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import anyio

from intentc.model import Snapshot
from intentc.reconcile import Loop, Pause, RequeueAfter, persist
from intentc.reconcile.backoff import RECONNECT, Retries
from intentc.watch.heartbeat import Heartbeat
from intentc.watch.keys import Layout
from intentc.watch.listing import list_all
from intentc.watch.protocol import Store
from intentc.watch.source import Source

from .directive import Book, Kept, directives_prefix
from .obeying import DirectiveExecutor

if TYPE_CHECKING:
    from intentc.engine.engine import Engine
    from intentc.engine.operator_actions import OperatorActions

_LOG = logging.getLogger(__name__)
_PERIOD = 1.0
"""Seconds between checks for directives that can be obeyed now, and for those that are done."""
_RELIST_PERIOD = 60.0
"""Seconds between readings of all directives, to find those that the watch missed."""
_CATCH_UP, _WITHDRAW, _RELIST = "catch up", "withdraw", "relist"


class DirectiveWatch:
    """The directives of one installation, as one process obeys them.

    ``engine``: the one on which ``operator_actions`` act. ``heartbeat``: the one that this process puts; it reveals a
    dead watch.
    """

    def __init__(
        self,
        store: Store,
        installation: str,
        operator_actions: OperatorActions,
        engine: Engine,
        *,
        heartbeat: Heartbeat | None = None,
        period: float = _PERIOD,
        relist_period: float = _RELIST_PERIOD,
        retries: Retries | None = None,
    ) -> None:
        self._store = store
        prefix = directives_prefix(installation)
        self._layout = Layout.of(prefix)
        self._book = Book(store, installation)
        self._retries = retries or Retries()
        self._source = Source(store, prefix, heartbeat=heartbeat, retries=self._retries)
        self._obeying = DirectiveExecutor(prefix, operator_actions, engine)
        self._engine = engine
        self._period = period
        self._relist_period = relist_period
        self._loaded = 0
        self._loop: Loop[str] = Loop(
            self._reconcile, name="directives can't be withdrawn or listed again yet", pause=Pause(RECONNECT)
        )

    async def load(self) -> None:
        """Obey the stored directives, before anything is evaluated. Waits while the store can't be read."""
        listing = await persist(
            lambda: list_all(self._store, self._layout),
            "the directives can't be read",
            log=_LOG,
            retries=self._retries,
        )
        self._obeying.take(listing.snapshot.changes, whole=True)
        self._loaded = listing.snapshot.revision

    async def run(self) -> None:
        """Obey directives without end."""
        self._loop.add(_RELIST, after=self._relist_period)
        async with aclosing(self._source.events()) as events, anyio.create_task_group() as group:
            group.start_soon(self._loop.run)
            async for item in events:
                self._obeying.take(item.changes, whole=isinstance(item, Snapshot))
                self._loop.add(_CATCH_UP)
                self._loop.add(_WITHDRAW)
                self._engine.work_ended()

    @property
    def applied_revision(self) -> int:
        """The revision up to which every directive is obeyed; 0 before ``load``."""
        return self._source.applied_revision or self._loaded

    def report(self) -> dict[str, Any]:
        """For ``/status``: ``applied_revision``, the watch's ``phase``, ``lists`` by reason, ``counts`` by sort,
        ``unreadable`` keys."""
        return {
            "applied_revision": self.applied_revision,
            "phase": self._source.state.phase.value,
            "lists": dict(self._source.counters.lists),
            "counts": self._obeying.counts,
            "unreadable": self._obeying.unreadable,
        }

    def _reconcile(self, key: str) -> RequeueAfter | Coroutine[Any, Any, RequeueAfter]:
        if key == _CATCH_UP:
            return self._catch_up()
        return self._withdraw() if key == _WITHDRAW else self._relist()

    async def _relist(self) -> RequeueAfter:
        """Find directives that the watch missed, which otherwise wait for its next cut (docs/engine.md §1.5).

        All are read, at the present revision: the last applied one may be old here, and would miss just the newest
        directive."""
        listing = await list_all(self._store, self._layout)
        if not self._obeying.knows(listing.snapshot.changes):
            _LOG.warning("the watch has missed directives up to revision %d", listing.snapshot.revision)
            self._source.request_listing("missed")
        return RequeueAfter(self._relist_period)

    def _catch_up(self) -> RequeueAfter:
        """Obey deferred directives."""
        if self._obeying.catch_up():
            self._engine.work_ended()
        return RequeueAfter(self._period)

    async def _withdraw(self) -> RequeueAfter:
        """Withdraw directives that are done."""
        has_asked = False
        for known in self._obeying.done():
            if not self._engine.may_write:
                break
            has_asked = True
            await self._book.withdraw(Kept(known.directive, known.mod_revision))
            known.withdrawn = True
        return RequeueAfter(self._period, keeps_failures=not has_asked)
