"""Standing for the leadership, holding it, and giving it up in time (docs/engine.md §9).

Why it exists: the engine needs one answer, "under which fence may I write at this moment?", that is right after any
stop, cut or restart of anybody. ``leader_key`` knows the store's side of it, a ``LeaseKeeper`` that of the lease; here
is when to stand, when it is won, and when it must count as lost.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import NoReturn

import anyio

from intentc import crashpoints
from intentc.leading.keeper import KeeperFactory, LeaseKeeper, StoreKeeper
from intentc.leading.leader_key import Found, LeaderKey
from intentc.leading.leadership import Leadership, leader_value, leading_process, read_versions, versions_value
from intentc.leading.outage import Outage
from intentc.leading.process_identity import ProcessIdentity, can_be_judged, is_dead, read_identity, this_process
from intentc.watch.backoff import DEFAULT_BACKOFF, Backoff
from intentc.watch.protocol import KeyValue, LeaseGone, Store, StoreError

_LOG = logging.getLogger(__name__)
DEFAULT_TTL_SECONDS = 10
SHORTEST_TTL_SECONDS = 2
"""etcd's own at its default election timeout; it would lengthen a shorter one in silence."""
_GIVE_BACK_SECONDS = 2.0
_SHORTEST_NAP_SECONDS = 0.001
_PROOF_SECONDS = 0.2
"""Between looks of a standby whether the leader's process on its own machine has ended."""


class _Tenure:
    """From one winning to the losing of it."""

    def __init__(self, leadership: Leadership, keeper: LeaseKeeper) -> None:
        self.leadership = leadership
        self.keeper = keeper
        self.refused = anyio.Event()


class Election:
    """One process as a candidate, and for as long as it lasts as the leader.

    ``process``: names it for people, in the key and in other processes' status. ``ttl``: seconds after which a process
    that has died is replaced. ``versions``: compiler → version. ``on_won`` and ``on_lost`` (with a reason for people)
    are called in turn, from the event loop, and must return at once. ``keepers``: None keeps the lease through the
    store itself. ``clock``: the one by which keepers count, too. ``identity``: of this process, by which a successor on
    the same machine can prove its end (None: asks the kernel). ``is_dead``: whether the first of two has ended, as far
    as the second can prove it. Raises ``ValueError`` for a ``ttl`` under 2 s.
    """

    def __init__(
        self,
        store: Store,
        installation: str,
        process: str,
        *,
        ttl: int = DEFAULT_TTL_SECONDS,
        versions: Mapping[str, str],
        on_won: Callable[[Leadership], None],
        on_lost: Callable[[str], None],
        keepers: KeeperFactory | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        new_backoff: Callable[[], Backoff] | None = None,
        identity: ProcessIdentity | None = None,
        is_dead: Callable[[ProcessIdentity | None, ProcessIdentity | None], bool] = is_dead,
    ) -> None:
        if ttl < SHORTEST_TTL_SECONDS:
            raise ValueError(f"a leader's lease of {ttl} s is too short; give {SHORTEST_TTL_SECONDS} s or more")
        new_backoff = new_backoff or partial(Backoff, DEFAULT_BACKOFF, clock=clock)
        self._store = store
        self._installation = installation
        self._process = process
        self._ttl = ttl
        # Covers what is under way when time is up, clocks that run unequally fast, and a member of etcd that has been
        # cut off, does not know it yet, and still renews (up to its election timeout, 1 s by default).
        self._margin = min(max(1.0, ttl / 5), ttl / 3)
        self._versions = dict(versions)
        self._on_won = on_won
        self._on_lost = on_lost
        self._keepers = keepers or partial(StoreKeeper, store, clock)
        self._clock = clock
        self._wall_clock = wall_clock
        self._identity = identity or this_process()
        self._is_dead = is_dead
        self._outage = Outage(new_backoff())
        self._pauses = new_backoff()
        self._key = LeaderKey(store, installation, self._outage, float(ttl))
        self._tenure: _Tenure | None = None
        self._lease = 0
        self._leader: str | None = None
        self._rest_until = 0.0
        self._resigned = False
        self._unanswered_since: float | None = None
        self._standing: anyio.CancelScope | None = None

    def fence(self) -> str | None:
        """What every write must carry; None if the leadership is not surely held at this very moment.

        Compared with the clock at each call: after a stop of the process it is None before anything else has run.
        """
        return self._tenure.leadership.fence if self._tenure is not None and self.expires_in() > 0 else None

    def expires_in(self) -> float:
        """Seconds until ``fence`` is None, should the lease not be renewed any more; 0 if it is None now."""
        return max(0.0, self._seconds_left(self._tenure)) if self._tenure is not None else 0.0

    def leader(self) -> str | None:
        """The process that leads, as far as this one knows; None if nobody does, or it has not been told yet."""
        return self._leader

    def unanswered_since(self) -> float | None:
        """Since when (Unix time in seconds) the store has answered nothing, if that has cost the leadership; None once
        it answers again."""
        return self._unanswered_since

    async def run(self) -> NoReturn:
        """Stand, lead, stand again, until cancelled; after ``resign`` it does nothing more. Errors of the store are
        waited out."""
        with anyio.CancelScope() as self._standing:
            while not self._resigned:
                try:
                    tenure = await self._stand()
                except StoreError as error:
                    self._leader = None
                    await self._give_back()
                    await self._outage.wait_out(error)
                    continue
                await self._lead(tenure)
                await anyio.sleep(max(self._pauses.next_wait(), self._rest_until - self._clock()))
        while True:
            await anyio.sleep_forever()

    async def resign(self) -> None:
        """Give the lease back, so that another process takes over at once, and stand no more. Never raises
        ``StoreError``; takes two seconds at most. For the end of a drain: shield it from the cancellation."""
        self._resigned = True
        if self._tenure is not None:
            self._lose(self._tenure, "resigned", logging.INFO)
        if self._standing is not None:
            self._standing.cancel()
        await self._give_back()

    def distrust(self, fence: str) -> None:
        """The API server has refused ``fence``. If it is the present one, the leadership is given up; and if the
        key in this store says that it was ours to use, this process does not stand again before a ttl has passed. A
        fence that is no longer current is passed over."""
        tenure = self._tenure
        if tenure is None or tenure.leadership.fence != fence:
            return
        self._lose(tenure, "the API server refused the fence")
        tenure.refused.set()

    async def record_versions(self, leadership: Leadership) -> bool:
        """Leave our compilers' versions for the next leader; False if ``leadership`` is over. Raises ``StoreError``."""
        return await self._key.record_versions(versions_value(self._versions), leadership.revision)

    async def _stand(self) -> _Tenure:
        """Wait until nobody leads and take the key. Raises ``StoreError``."""
        found = await self._key.read()
        while True:
            self._outage.over()
            self._unanswered_since = None
            if found.leader is not None:
                await self._stand_by(found)
            asked = self._clock()
            lease = self._lease = await self._store.grant_lease(self._ttl)
            held_until = asked + self._ttl
            value = leader_value(self._process, self._versions, self._wall_clock(), self._identity)
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
            since=self._wall_clock(),
            previous_versions=read_versions(versions.value) if versions is not None else None,
        )
        return _Tenure(leadership, self._keepers(own.lease, self._ttl, held_until))

    async def _stand_by(self, found: Found) -> None:
        holder = found.leader
        assert holder is not None
        self._leader = leading_process(holder.value)
        _LOG.info("standing by: %s leads since revision %d", self._leader, holder.create_revision)
        if not holder.lease:
            _LOG.error("%s has no lease, so it will never go by itself; if nobody leads, delete it", self._key.key)
        async with anyio.create_task_group() as group:
            group.start_soon(self._remove_dead, holder)
            await self._key.until_gone(holder.create_revision, found.revision)
            group.cancel_scope.cancel()
        self._leader = None

    async def _remove_dead(self, holder: KeyValue) -> None:
        """Delete the key of a holder as soon as its process is proved dead. Nothing for one that can't be judged from
        here: its lease decides."""
        identity = read_identity(holder.value)
        if not can_be_judged(identity, self._identity):
            return
        while not self._is_dead(identity, self._identity):  # noqa: ASYNC110 - another process has no event
            await anyio.sleep(_PROOF_SECONDS)
        _LOG.info("%s has died on this machine: its leadership is over before its lease", self._leader)
        while True:
            try:
                await self._key.remove(holder)
                break
            except StoreError as error:
                await self._outage.wait_out(error)

    async def _lead(self, tenure: _Tenure) -> None:
        if self._resigned:
            return
        crashpoints.reach("lease.won")
        self._tenure = tenure
        self._leader = self._process
        self._pauses.went_well()
        _LOG.info("leading, with fence %s", tenure.leadership.fence)
        try:
            self._on_won(tenure.leadership)
            await self._until_lost(tenure)
        finally:
            self._lose(tenure, "the election was ended", logging.INFO)
        if tenure.refused.is_set():
            await self._look_into_refusal(tenure)
        await self._give_back()

    async def _until_lost(self, tenure: _Tenure) -> None:
        """Return once the leadership is lost, having said so the moment that it was known."""
        revision = tenure.leadership.revision
        async with anyio.create_task_group() as group:

            async def first(wait: Callable[[], Awaitable[object]], reason: str) -> None:
                await wait()
                self._lose(tenure, reason)
                group.cancel_scope.cancel()

            group.start_soon(first, tenure.keeper.run, "the lease is gone")
            gone = partial(self._key.until_gone, revision, revision)
            group.start_soon(first, gone, f"{self._key.key} is not ours any more")
            group.start_soon(first, partial(self._until_over, tenure), "the lease could not be renewed in time")
            group.start_soon(first, tenure.refused.wait, "the API server refused the fence")

    async def _until_over(self, tenure: _Tenure) -> None:
        while True:
            left = self._seconds_left(tenure)
            if left <= 0:
                answered = tenure.keeper.held_until() - self._ttl
                if math.isfinite(answered):
                    self._unanswered_since = self._wall_clock() - (self._clock() - answered)
                return
            await anyio.sleep(max(left, _SHORTEST_NAP_SECONDS))

    def _seconds_left(self, tenure: _Tenure) -> float:
        return tenure.keeper.held_until() - self._margin - self._clock()

    def _lose(self, tenure: _Tenure, reason: str, level: int = logging.WARNING) -> None:
        """Told exactly once a tenure, whoever comes first."""
        if self._tenure is not tenure:
            return
        crashpoints.reach("lease.lost")
        self._tenure = None
        self._leader = None
        _LOG.log(level, "not leading any more: %s", reason)
        self._on_lost(reason)

    async def _look_into_refusal(self, tenure: _Tenure) -> None:
        """Refused rightly if the key has gone meanwhile. If not, standing again at once would win, and be refused."""
        with anyio.move_on_after(_GIVE_BACK_SECONDS):
            try:
                leader = (await self._key.read()).leader
            except StoreError:
                return
            if leader is None or leader.create_revision != tenure.leadership.revision:
                return
            self._rest_until = self._clock() + self._ttl
            _LOG.error(
                "the API server refuses fence %s, though %s in our etcd says that it is the current one; check that "
                "the API server uses the same etcd (etcd.endpoints) and that nothing between us rewrites headers; "
                "standing again in %d s",
                tenure.leadership.fence,
                self._key.key,
                self._ttl,
            )

    async def _give_back(self) -> None:
        """Revoke our lease, so that nobody needs to wait for its end, and nothing of ours that is late can use it."""
        lease, self._lease = self._lease, 0
        if not lease:
            return
        with anyio.move_on_after(_GIVE_BACK_SECONDS):
            try:
                await self._store.revoke_lease(lease)
            except LeaseGone:
                return
            except StoreError as error:
                _LOG.info(
                    "the leader's lease can't be given back (%s); it ends by itself within %d s", error, self._ttl
                )
