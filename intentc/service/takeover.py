"""From standby to leader and back: what happens between winning the election and the first write, and when it is lost.

A standby watches, evaluates and plans like the leader, so that taking over costs no relist: it applies what the former
leader wrote last, reads the ledger, and carries out what it had planned (docs/engine.md §9). The election itself is
``leading``'s business, what permission means the pipeline's.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio

from ..directives.directive import directives_prefix
from ..engine.engine import Engine
from ..engine.permission import STANDING_BY, UPGRADE
from ..leading import Election, KeeperFactory, Leadership, OtherLeader, caught_up
from ..watch.protocol import Store, StoreError
from ..writing import WriteError

_LOG = logging.getLogger(__name__)
_LOOK = 0.05
"""Seconds between looks whether everything is applied that the former leader wrote."""
_RETRY = 0.5
"""Seconds between tries at a store or server that is away."""


class TakeOver:
    """Stands for election beside ``engine``, which has no permission to write until this one gives it.

    ``prefix``: under which resources lie. ``versions``: compiler → version. ``max_writes_on_upgrade``: with other
    versions than the last leader's, so many planned writes at most are made without further leave. ``applied``: up to
    which revision all that lies there was seen, keys of no meaning included; ``obeyed``: so of operators' directives.
    ``claim``: claims the path once more before anything is written; raises what
    ``leading.claim_path`` does.
    """

    def __init__(
        self,
        engine: Engine,
        store: Store,
        prefix: str,
        *,
        installation: str,
        process: str,
        ttl: int,
        versions: Mapping[str, str],
        max_writes_on_upgrade: int,
        applied: Callable[[], int],
        obeyed: Callable[[], int],
        claim: Callable[[], Awaitable[None]] | None = None,
        keepers: KeeperFactory | None = None,
    ) -> None:
        self._engine = engine
        self._orders_prefix = directives_prefix(installation)
        self._applied = applied
        self._obeyed = obeyed
        self._claim = claim
        self._refused_after: int | None = None
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
            ttl=ttl,
            versions=versions,
            on_won=self._on_won,
            on_lost=self._on_lost,
            keepers=keepers,
        )
        permission = engine.parts.permission
        permission.withhold(STANDING_BY, "another compiler leads, or may")
        permission.lead_by(self.election.fence, self._on_fence_rejected)

    async def run(self) -> None:
        """Stand, take over, stand by again; until ``end``, also while everything around is being cancelled: writes
        under way at the end are made as the leader's."""
        with self._scope:
            async with anyio.create_task_group() as group:
                group.start_soon(self.election.run)
                while True:
                    await self._won.wait()
                    self._won = anyio.Event()
                    if self._leadership is not None:
                        await self._take_over(self._leadership)

    async def end(self) -> None:
        """Give the leadership back, so that a standby takes over at once."""
        with anyio.CancelScope(shield=True):
            await self.election.resign()
        self._scope.cancel()

    def report(self) -> dict[str, Any]:
        """For ``/status``: ``leads`` (may write now), ``leader`` (a process), ``fence``, ``expires_in`` seconds,
        ``takeovers``."""
        return {
            "leads": self.election.fence() is not None,
            "leader": self.election.leader(),
            "fence": self.election.fence(),
            "expires_in": round(self.election.expires_in(), 3),
            "takeovers": self.takeovers,
        }

    @property
    def hindered(self) -> str:
        """Why this process doesn't write though it could lead; empty if nothing is wrong."""
        if self._refused_after == self._engine.reconciler.sender.written:
            return "the API server refuses our fence: does it use the same etcd, and the same installation?"
        if self.election.fence() is not None and STANDING_BY in self._engine.parts.permission.reasons:
            return "it leads, and has not caught up yet"
        return ""

    def _on_won(self, leadership: Leadership) -> None:
        self._leadership = leadership
        self._won.set()

    def _on_fence_rejected(self, fence: str) -> None:
        """The API server rejected a write that carried ``fence``; one of a former leadership means nothing."""
        if self._leadership is not None and self._leadership.fence == fence:
            self._refused_after = self._engine.reconciler.sender.written
        self.election.distrust(fence)

    def _on_lost(self, reason: str) -> None:
        self._leadership = None
        permission = self._engine.parts.permission
        permission.withhold(STANDING_BY, f"not leading: {reason}")
        permission.give(UPGRADE)

    async def _take_over(self, leadership: Leadership) -> None:
        """Catch up, and write; unless the leadership is lost meanwhile."""
        told = False
        while self._leadership is leadership:
            try:
                if await self._is_ready():
                    break
            except (StoreError, WriteError, OtherLeader) as error:
                if not told:
                    _LOG.warning("can't take over yet: %s; trying again", error)
                told = True
                await anyio.sleep(_RETRY)
        if self._leadership is not leadership:
            return
        if await self._is_too_much(leadership):
            return
        self.takeovers += 1
        _LOG.info("taking over at revision %d", self._engine.parts.logic.revision)
        self._engine.parts.permission.give(STANDING_BY)
        try:
            await self.election.record_versions(leadership)
        except StoreError as error:
            _LOG.warning("our versions can't be left for the next leader: %s", error)

    async def _is_ready(self) -> bool:
        """Whether everything is applied that a former leader may have written; then the ledger is read, too."""
        engine = self._engine
        if (
            not engine.intake.listed
            or await caught_up(self._store, self._prefix, self._applied())
            or await caught_up(self._store, self._orders_prefix, self._obeyed())
        ):
            await anyio.sleep(_LOOK)
            return False
        if self._claim is not None:
            await self._claim()
        await engine.numbers.load()
        return True

    async def _is_too_much(self, leadership: Leadership) -> bool:
        """Whether other compilers than the last leader's would write so much that a person should see it first."""
        before = leadership.previous_versions
        if before is None or before == self._versions:
            return False
        engine = self._engine
        while self._leadership is leadership and not engine.quiet:  # noqa: ASYNC110 - two conditions, one without event
            await anyio.sleep(_LOOK)
        # A number is a write, and what carries it can't be planned without it.
        writes = 2 * engine.numbers.requested + sum(map(len, engine.parts.states.planned.values()))
        if self._leadership is leadership and writes <= self._most:
            return False
        message = (
            f"the last leader compiled with {_shown(before)}, this one does with {_shown(self._versions)} and would "
            f"make {writes:,} writes; look at /status, then raise intentc.limits.max_writes_on_upgrade "
            f"({self._most:,}) and start again"
        )
        _LOG.error(message)
        engine.parts.permission.withhold(UPGRADE, message)
        engine.parts.permission.give(STANDING_BY)
        return True


def _shown(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items())) or "nothing"
