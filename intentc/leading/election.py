"""Runs for the leadership, holds it, and gives it up in time (docs/engine.md §9).

The engine needs one answer, "under which fence may I write now?", that is right after any stop, cut or restart of any
process. ``leader_key`` reads, takes and watches the key; a ``LeaseKeeper`` renews the lease. This module grants and
revokes the lease, has a dead process's key deleted and the versions recorded, and decides when to run and when the
leadership counts as lost.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import NoReturn, Protocol

import anyio

from intentc import crashpoints
from intentc.leading.leader_key import (
    Found,
    Leader,
    LeaderKey,
    Leadership,
    Outage,
    leader_value,
    read_leader,
    read_versions,
    versions_value,
)
from intentc.leading.process_identity import ProcessIdentity, can_be_judged, is_dead, read_identity, this_process
from intentc.reconcile import persist
from intentc.reconcile.backoff import Retries
from intentc.reconcile.failures import Failure
from intentc.watch.protocol import KeyValue, LeaseNotFound, Store

RENEWALS_IN_A_TTL = 3
RETRIES_IN_A_TTL = 20


class LeaseKeeper(Protocol):
    """Keeps one lease."""

    def held_until(self) -> float:
        """Until when the lease is certainly held, in seconds of the monotonic clock: its time to live from when the
        last *answered* request was sent. ``-inf``: it is gone. Safe from any thread."""
        ...

    async def run(self) -> None:
        """Renew until cancelled; returns once the store reports that the lease is lost. Raises nothing: failures are
        retried, and delays show in ``held_until``."""
        ...


KeeperFactory = Callable[[int, int, float], LeaseKeeper]
"""Lease, its time to live in seconds, until when it is already held → its keeper, not yet running."""


class StoreKeeper:
    """A keeper in the event loop, through the store itself."""

    def __init__(self, store: Store, clock: Callable[[], float], lease: int, ttl: int, held_until: float) -> None:
        self._store = store
        self._clock = clock
        self._lease = lease
        self._ttl = ttl
        self._held_until = held_until

    def held_until(self) -> float:
        """See ``LeaseKeeper.held_until``."""
        return self._held_until

    async def run(self) -> None:
        """See ``LeaseKeeper.run``."""
        while True:
            sent = self._clock()
            pause = self._ttl / RENEWALS_IN_A_TTL
            try:
                left = await self._store.keep_lease_alive(self._lease)
            except Failure:
                pause = self._ttl / RETRIES_IN_A_TTL
            else:
                if left == 0:
                    self._held_until = -math.inf
                    return
                self._held_until = max(self._held_until, sent + left)
            await anyio.sleep(pause)


_LOG = logging.getLogger(__name__)
DEFAULT_TTL_SECONDS = 10
SHORTEST_TTL_SECONDS = 2
"""etcd's own minimum at its default election timeout; it would silently extend a shorter one."""
_GIVE_BACK_SECONDS = 2.0
_SHORTEST_NAP_SECONDS = 0.001
_PROOF_SECONDS = 0.2
"""Seconds between checks of a standby whether the leader's process on its own machine has ended."""


class _Tenure:
    """The time from winning the leadership to losing it."""

    def __init__(self, leadership: Leadership, keeper: LeaseKeeper) -> None:
        self.leadership = leadership
        self.keeper = keeper
        self.rejected = anyio.Event()


class Election:
    """One process as a candidate and, while it has the leadership, as the leader.

    ``process``: its name for people, ``address``: that of its diagnostics, both in the key and in other processes'
    status. ``ttl``: seconds until a dead process is replaced. ``versions``: compiler → version. ``on_won`` and
    ``on_lost`` (with a reason for people) are called alternately, from the event loop, and must return at once.
    ``keepers``: None renews the lease through the store itself. ``clock``: the clock of the keepers as well.
    ``identity``: of this process; it lets a successor on the same machine prove that this process ended (None: asks
    the kernel). ``is_dead``: whether the first of two has ended, if the second can prove it. Raises ``ValueError``
    for a ``ttl`` under 2 s.
    """

    def __init__(
        self,
        store: Store,
        installation: str,
        process: str,
        *,
        address: str = "",
        ttl: int = DEFAULT_TTL_SECONDS,
        versions: Mapping[str, str],
        on_won: Callable[[Leadership], None],
        on_lost: Callable[[str], None],
        keepers: KeeperFactory | None = None,
        clock: Callable[[], float] = time.monotonic,
        new_retries: Callable[[], Retries] | None = None,
        identity: ProcessIdentity | None = None,
        is_dead: Callable[[ProcessIdentity | None, ProcessIdentity | None], bool] = is_dead,
    ) -> None:
        if ttl < SHORTEST_TTL_SECONDS:
            raise ValueError(f"a leader's lease of {ttl} s is too short; give {SHORTEST_TTL_SECONDS} s or more")
        new_retries = new_retries or partial(Retries, clock=clock)
        self._store = store
        self._installation = installation
        self._own = Leader(process, address)
        self._ttl = ttl
        # Covers requests under way when time is up, clocks that run at different speeds, and a member of etcd that was
        # cut off, does not know it yet, and still renews (up to its election timeout, 1 s by default).
        self._margin = min(max(1.0, ttl / 5), ttl / 3)
        self._versions = dict(versions)
        self._on_won = on_won
        self._on_lost = on_lost
        self._keepers = keepers or partial(StoreKeeper, store, clock)
        self._clock = clock
        self._identity = identity or this_process()
        self._is_dead = is_dead
        self._outage = Outage(new_retries())
        self._pauses = new_retries()
        self._key = LeaderKey(store, installation, self._outage, float(ttl))
        self._tenure: _Tenure | None = None
        self._lease = 0
        self._leader: Leader | None = None
        self._rest_until = 0.0
        self._resigned = False
        self._unanswered_since: float | None = None
        self._standing: anyio.CancelScope | None = None

    def fence(self) -> str | None:
        """The fence for every write; None if the leadership is not certain right now.

        Compared with the clock at each call: after the process was stopped it is None before anything else runs.
        """
        tenure = self._tenure
        return tenure.leadership.fence if tenure is not None and self._seconds_left(tenure) > 0 else None

    def expires_in(self) -> float:
        """Seconds until ``fence`` is None if the lease is not renewed; 0 if it is None now."""
        return max(0.0, self._seconds_left(self._tenure)) if self._tenure is not None else 0.0

    def leader(self) -> str | None:
        """The process that leads; None if there is none, or it is not known yet."""
        return self._leader.process if self._leader is not None else None

    def leader_address(self) -> str:
        """The address of the leader's diagnostics; empty if it is unknown."""
        return self._leader.address if self._leader is not None else ""

    def unanswered_since(self) -> float | None:
        """Since when (Unix time in seconds) the store has not answered, if that has ended the leadership; None once it
        answers again."""
        return self._unanswered_since

    async def run(self) -> NoReturn:
        """Run for the leadership, lead, and run again, until cancelled; does nothing after ``resign``. Waits out errors
        of the store."""
        with anyio.CancelScope() as self._standing:
            while not self._resigned:
                try:
                    tenure = await self._stand()
                except Failure as error:
                    self._leader = None
                    await self._give_back()
                    await self._outage.wait_out(error)
                    continue
                await self._lead(tenure)
                await anyio.sleep(max(self._pauses.next_wait(), self._rest_until - self._clock()))
        while True:
            await anyio.sleep_forever()

    async def resign(self) -> None:
        """Revoke the lease, so that another process takes over at once, and don't run again. Never raises
        ``Failure``; takes two seconds at most. For the end of a drain: shield it from the cancellation."""
        self._resigned = True
        if self._tenure is not None:
            self._lose(self._tenure, "resigned", logging.INFO)
        if self._standing is not None:
            self._standing.cancel()
        await self._give_back()

    def invalidate(self, fence: str) -> None:
        """Give up the leadership, since the API server rejected ``fence``; ignored for a fence that is not the present
        one. If the key in this store says that the fence was valid, this process does not run again for one ttl."""
        tenure = self._tenure
        if tenure is None or tenure.leadership.fence != fence:
            return
        self._lose(tenure, "the API server rejected the fence")
        tenure.rejected.set()

    async def record_versions(self, leadership: Leadership) -> bool:
        """Record our versions for the next leader; False if ``leader_key`` is over. Raises ``Failure``."""
        return await self._key.record_versions(versions_value(self._versions), leadership.revision)

    async def _stand(self) -> _Tenure:
        """Wait until no process leads, and take the key. Raises ``Failure``."""
        found = await self._key.read()
        while True:
            self._outage.over()
            self._unanswered_since = None
            if found.leader is not None:
                await self._stand_by(found)
            asked = self._clock()
            lease = self._lease = await self._store.grant_lease(self._ttl)
            held_until = asked + self._ttl
            value = leader_value(self._own, self._versions, time.time(), self._identity)
            found = await self._key.take(value, lease, partial(self._before, held_until))
            if found.leader is not None and found.leader.lease == lease:
                return self._won(found.leader, found.versions, held_until)
            await self._give_back()

    def _before(self, moment: float) -> bool:
        return self._clock() < moment

    def _won(self, own: KeyValue, versions: KeyValue | None, held_until: float) -> _Tenure:
        leadership = Leadership(
            fence=f"{self._installation}/{own.create_revision}",
            revision=own.create_revision,
            since=time.time(),
            previous_versions=read_versions(versions.value) if versions is not None else None,
        )
        return _Tenure(leadership, self._keepers(own.lease, self._ttl, held_until))

    async def _stand_by(self, found: Found) -> None:
        holder = found.leader
        assert holder is not None
        self._leader = leader = read_leader(holder.value)
        _LOG.info("standing by: %s leads since revision %d", leader.process, holder.create_revision)
        if not holder.lease:
            _LOG.error("%s has no lease, so it never expires; if no process leads, delete it", self._key.key)
        async with anyio.create_task_group() as group:
            group.start_soon(self._remove_dead, holder)
            await self._key.until_deleted(holder.create_revision, found.revision)
            group.cancel_scope.cancel()
        self._leader = None

    async def _remove_dead(self, holder: KeyValue) -> None:
        """Delete the key of a holder as soon as its process is proved dead. Does nothing if this machine can't prove
        that: then the lease decides."""
        identity = read_identity(holder.value)
        if not can_be_judged(identity, self._identity):
            return
        while not self._is_dead(identity, self._identity):  # noqa: ASYNC110 - another process has no event
            await anyio.sleep(_PROOF_SECONDS)
        died = read_leader(holder.value).process
        _LOG.info("%s has died on this machine: its leadership ends before its lease", died)
        await persist(partial(self._key.remove, holder), "a dead leader's key can't be deleted", log=_LOG)

    async def _lead(self, tenure: _Tenure) -> None:
        if self._resigned:
            return
        crashpoints.reach("lease.won")
        self._tenure = tenure
        self._leader = self._own
        self._pauses.went_well()
        _LOG.info("leading, with fence %s", tenure.leadership.fence)
        try:
            self._on_won(tenure.leadership)
            await self._until_lost(tenure)
        finally:
            self._lose(tenure, "the election was ended", logging.INFO)
        if tenure.rejected.is_set():
            await self._look_into_rejection(tenure)
        await self._give_back()

    async def _until_lost(self, tenure: _Tenure) -> None:
        """Return once the leadership is lost; ``on_lost`` is called as soon as that is known."""
        revision = tenure.leadership.revision
        async with anyio.create_task_group() as group:

            async def first(wait: Callable[[], Awaitable[object]], reason: str) -> None:
                await wait()
                self._lose(tenure, reason)
                group.cancel_scope.cancel()

            group.start_soon(first, tenure.keeper.run, "the lease is lost")
            deleted = partial(self._key.until_deleted, revision, revision)
            group.start_soon(first, deleted, f"{self._key.key} is not ours any more")
            group.start_soon(first, partial(self._until_over, tenure), "the lease could not be renewed in time")
            group.start_soon(first, tenure.rejected.wait, "the API server rejected the fence")

    async def _until_over(self, tenure: _Tenure) -> None:
        while True:
            left = self._seconds_left(tenure)
            if left <= 0:
                answered = tenure.keeper.held_until() - self._ttl
                if math.isfinite(answered):
                    self._unanswered_since = time.time() - (self._clock() - answered)
                return
            await anyio.sleep(max(left, _SHORTEST_NAP_SECONDS))

    def _seconds_left(self, tenure: _Tenure) -> float:
        return tenure.keeper.held_until() - self._margin - self._clock()

    def _lose(self, tenure: _Tenure, reason: str, level: int = logging.WARNING) -> None:
        """Report the loss exactly once per tenure, whichever cause is first."""
        if self._tenure is not tenure:
            return
        crashpoints.reach("lease.lost")
        self._tenure = None
        self._leader = None
        _LOG.log(level, "not leading any more: %s", reason)
        self._on_lost(reason)

    async def _look_into_rejection(self, tenure: _Tenure) -> None:
        """Check whether the key is deleted. If it isn't, running again at once would win, and be rejected again."""
        with anyio.move_on_after(_GIVE_BACK_SECONDS):
            try:
                leader = (await self._key.read()).leader
            except Failure:
                return
            if leader is None or leader.create_revision != tenure.leadership.revision:
                return
            self._rest_until = self._clock() + self._ttl
            _LOG.error(
                "the API server rejects fence %s, though %s in our etcd says that it is the current one; check that "
                "the API server uses the same etcd (etcd.endpoints) and that nothing between us rewrites headers; "
                "running again in %d s",
                tenure.leadership.fence,
                self._key.key,
                self._ttl,
            )

    async def _give_back(self) -> None:
        """Revoke our lease, so that no process waits for its end, and no delayed request of ours can use it."""
        lease, self._lease = self._lease, 0
        if not lease:
            return
        with anyio.move_on_after(_GIVE_BACK_SECONDS):
            try:
                await self._store.revoke_lease(lease)
            except LeaseNotFound:
                return
            except Failure as error:
                _LOG.info(
                    "the leader's lease can't be given back (%s); it ends by itself within %d s", error, self._ttl
                )
