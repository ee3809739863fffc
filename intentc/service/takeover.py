"""Makes a standby the leader, and the leader a standby: the steps after winning and after losing the election.

A standby watches, evaluates and plans like the leader, so a takeover needs no relist: it applies the former leader's
last writes, claims the path, reads the allocations, and carries out its own plans (docs/engine.md §9), unless compilers
of other versions would write too much. ``leading`` runs the election; ``engine/permission.py`` withholds and grants the
permission to write.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

import anyio

from intentc.reconcile import persist
from intentc.reconcile.failures import Failure

from ..directives.directive import directives_prefix
from ..engine.engine import Engine
from ..engine.permission import STANDING_BY, UPGRADE
from ..leading import Election, KeeperFactory, Leadership, caught_up
from ..watch.protocol import Store

_LOG = logging.getLogger(__name__)
_LOOK = 0.05
"""Seconds between checks whether all writes of the former leader are applied."""


class Applied(Protocol):
    """Something that follows the store."""

    @property
    def applied_revision(self) -> int:
        """The revision up to which all of its keys were seen, including ignored ones."""
        ...


class TakeOver:
    """Stands for election and gives ``engine`` its permission to write.

    ``prefix``: the prefix of resources. ``versions``: compiler → version. ``max_writes_on_upgrade``: most planned
    writes that are made without approval if the last leader had other versions. ``resources``: the watch of the keys
    below ``prefix``; ``directives``: the watch of operators' directives. ``claim``: claims the path once more before
    the first write, and checks that no later schema was in use; raises what ends the process. ``record``: records for
    later processes what this one writes with; raises ``Failure``.
    """

    def __init__(
        self,
        engine: Engine,
        store: Store,
        prefix: str,
        *,
        installation: str,
        process: str,
        address: str = "",
        ttl: int,
        versions: Mapping[str, str],
        max_writes_on_upgrade: int,
        resources: Applied,
        directives: Applied,
        claim: Callable[[], Awaitable[None]] | None = None,
        record: Callable[[], Awaitable[None]] | None = None,
        keepers: KeeperFactory | None = None,
    ) -> None:
        self._engine = engine
        self._directives_prefix = directives_prefix(installation)
        self._resources = resources
        self._directives = directives
        self._claim = claim
        self._record = record
        self._rejected_after: int | None = None
        self._store = store
        self._prefix = prefix
        self._versions = dict(versions)
        self._most = max_writes_on_upgrade
        self._won = anyio.Event()
        self._leadership: Leadership | None = None
        self._scope = anyio.CancelScope(shield=True)
        self.takeovers = 0
        self.election = Election(
            store,
            installation,
            process,
            address=address,
            ttl=ttl,
            versions=versions,
            on_won=self._on_won,
            on_lost=self._on_lost,
            keepers=keepers,
        )
        engine.withhold(STANDING_BY, "another compiler leads, or may")
        engine.permission.require_leadership(self.election.fence, self._on_fence_rejected)

    async def run(self) -> None:
        """Take over and stand by again until ``end``. It is shielded from cancellation, so that writes in flight at the
        end still carry the leader's fence."""
        with self._scope:
            async with anyio.create_task_group() as group:
                group.start_soon(self.election.run)
                while True:
                    await self._won.wait()
                    self._won = anyio.Event()
                    if self._leadership is not None:
                        await self._take_over(self._leadership)

    async def end(self) -> None:
        """Resign, so that a standby takes over at once."""
        with anyio.CancelScope(shield=True):
            await self.election.resign()
        self._scope.cancel()

    def report(self) -> dict[str, Any]:
        """Return the values for ``/status``: ``leads`` (may write now), ``leader`` (a process),
        ``leader_address`` (of its diagnostics, empty if unknown), ``fence``, ``expires_in`` seconds, ``takeovers``."""
        return {
            "leads": self.election.fence() is not None,
            "leader": self.election.leader(),
            "leader_address": self.election.leader_address(),
            "fence": self.election.fence(),
            "expires_in": round(self.election.expires_in(), 3),
            "takeovers": self.takeovers,
        }

    @property
    def hindered(self) -> str:
        """Why this process doesn't write though it could lead; empty if nothing prevents it."""
        if self._rejected_after == self._engine.sender.written:
            return "the API server rejects our fence: does it use the same etcd and the same installation?"
        if self.election.fence() is not None and STANDING_BY in self._engine.permission.withheld_for:
            return "it leads, and has not caught up yet"
        return ""

    def _on_won(self, leadership: Leadership) -> None:
        self._leadership = leadership
        self._won.set()

    def _on_fence_rejected(self, fence: str) -> None:
        """Handle a rejected write that carried ``fence``; the fence of a former leadership is ignored."""
        if self._leadership is not None and self._leadership.fence == fence:
            self._rejected_after = self._engine.sender.written
        self.election.invalidate(fence)

    def _on_lost(self, reason: str) -> None:
        self._leadership = None
        self._engine.withhold(STANDING_BY, f"not leading: {reason}")
        self._engine.lift(UPGRADE)

    async def _take_over(self, leadership: Leadership) -> None:
        """Catch up and permit writes, unless the leadership is lost first."""
        await persist(partial(self._catch_up, leadership), "can't take over", log=_LOG)
        if self._leadership is not leadership:
            return
        if await self._is_too_much(leadership):
            return
        self.takeovers += 1
        _LOG.info("taking over at revision %d", self._engine.revision)
        self._engine.lift(STANDING_BY)
        try:
            await self.election.record_versions(leadership)
            if self._record is not None:
                await self._record()
        except Failure as error:
            _LOG.warning("the compilers' versions and fields can't be recorded for the next leader: %s", error)

    async def _catch_up(self, leadership: Leadership) -> None:
        """Wait until all writes of a former leader are applied; then claim the path and read the allocations. Returns
        early if the leadership is lost. Raises ``Failure``."""
        while self._leadership is leadership and not await self._has_caught_up():  # noqa: ASYNC110 - asks the store
            await anyio.sleep(_LOOK)
        if self._leadership is leadership:
            if self._claim is not None:
                await self._claim()
            await self._engine.load_allocations()

    async def _has_caught_up(self) -> bool:
        return (
            self._engine.world.listed
            and not await caught_up(self._store, self._prefix, self._resources.applied_revision)
            and not await caught_up(self._store, self._directives_prefix, self._directives.applied_revision)
        )

    async def _is_too_much(self, leadership: Leadership) -> bool:
        """Return whether a change of versions would cause more writes than a person should approve first."""
        before = leadership.previous_versions
        if before is None or before == self._versions:
            return False
        engine = self._engine
        while self._leadership is leadership and not engine.quiet:  # noqa: ASYNC110 - two conditions, one without event
            await anyio.sleep(_LOOK)
        if self._leadership is not leadership:
            # No verdict now: the next leadership is checked when it begins.
            return True
        states = engine.states
        # An allocation is a write, and the object with it can't be planned without it: two writes.
        writes = 2 * engine.allocations.requested + sum(map(len, states.planned.values()))
        if writes <= self._most:
            return False
        message = (
            f"the last leader compiled with {_shown(before)}, this one does with {_shown(self._versions)} and would "
            f"make {writes:,} writes; look at /status, then raise intentc.limits.max_writes_on_upgrade "
            f"({self._most:,}) and start again"
        )
        _LOG.error(message)
        engine.withhold(UPGRADE, message)
        engine.lift(STANDING_BY)
        return True


def _shown(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items())) or "nothing"
