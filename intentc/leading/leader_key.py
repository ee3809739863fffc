"""Reads the leader's key, takes it with a lease, watches it until it is deleted, and removes that of a dead leader.

Why it exists: candidates and leaders alike wait for the end of one key, and must not miss it whatever happens to the
watch; and a candidate whose transaction was cut must find out its outcome. ``election`` decides who runs when, and what
winning means.

It also reads and records the versions of the leader's compilers, in a key of their own, and revokes the lease of a dead
leader. ``Outage`` is its caller's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import anyio

from intentc.leading.outage import Outage
from intentc.watch.keys import leader_key, versions_key
from intentc.watch.protocol import (
    Compare,
    Delete,
    Get,
    KeyValue,
    LeaseNotFound,
    Put,
    Relation,
    Store,
    StoreError,
    StoreUnavailable,
    Target,
    WatchBatch,
    absent,
)


class Found(NamedTuple):
    """The key (None: absent) and the versions (None: never recorded) at ``revision``."""

    leader: KeyValue | None
    versions: KeyValue | None
    revision: int


class LeaderKey:
    """The leader's key of one installation. ``patience``: seconds of silence after which a watch is not trusted."""

    def __init__(self, store: Store, installation: str, outage: Outage, patience: float) -> None:
        self.key = leader_key(installation)
        self._versions_key = versions_key(installation)
        self._store = store
        self._outage = outage
        self._patience = patience

    async def read(self) -> Found:
        """Who leads now. Raises ``StoreError``."""
        read = [Get(self.key), Get(self._versions_key)]
        answer = await self._store.transaction([], read)
        leader, versions = answer.results
        return Found(_only(leader), _only(versions), answer.revision)

    async def take(self, value: bytes, lease: int, still_time: Callable[[], bool]) -> Found:
        """Put the key if no process has it; the ``lease`` of the result shows who has it. Raises ``StoreError``.

        If the answer is lost, the key is read back while there is ``still_time``. If ``StoreUnavailable`` is raised, or
        the key is found absent, the transaction may still arrive: revoke the lease to prevent that.
        """
        read = [Get(self.key), Get(self._versions_key)]
        try:
            answer = await self._store.transaction([absent(self.key)], [Put(self.key, value, lease), *read], read)
        except StoreUnavailable as error:
            return await self._read_back(error, still_time)
        leader, versions = answer.results[-2:]
        return Found(_only(leader), _only(versions), answer.revision)

    async def record_versions(self, value: bytes, created: int) -> bool:
        """Put the versions if the key still has this create revision; return whether it has. Raises ``StoreError``."""
        holds = Compare(self.key, Target.CREATE_REVISION, Relation.EQUAL, created)
        return (await self._store.transaction([holds], [Put(self._versions_key, value)])).succeeded

    async def remove(self, holder: KeyValue) -> None:
        """Delete the key if it still is ``holder``, and revoke its lease. Raises ``StoreError``; repeatable."""
        still = [
            Compare(self.key, Target.CREATE_REVISION, Relation.EQUAL, holder.create_revision),
            Compare(self.key, Target.MOD_REVISION, Relation.EQUAL, holder.mod_revision),
        ]
        await self._store.transaction(still, [Delete(self.key)])
        if holder.lease:
            with suppress(LeaseNotFound):
                await self._store.revoke_lease(holder.lease)

    async def until_deleted(self, created: int, revision: int) -> None:
        """Return once the key that was created at revision ``created``, and stood at ``revision``, is deleted.

        Waits out errors of the store. After a cut the key is read before it is watched again, so that neither a
        compaction nor a restored older store hides anything.
        """
        async with anyio.create_task_group() as group:

            async def first(wait: Callable[[], Awaitable[None]]) -> None:
                await wait()
                group.cancel_scope.cancel()

            group.start_soon(first, partial(self._watch_until_deleted, created, revision))
            group.start_soon(first, partial(self._look_until_deleted, created))

    async def _watch_until_deleted(self, created: int, revision: int) -> None:
        seen: int | None = revision
        while True:
            try:
                if seen is None:
                    found = await self.read()
                    if _created(found.leader) != created:
                        return
                    seen = found.revision
                async with self._store.watch([self.key], seen + 1) as watch:
                    self._outage.over()
                    async for item in watch:
                        if isinstance(item, WatchBatch) and self._shows_end(item, created):
                            return
            except StoreError as error:
                seen = None
                await self._outage.wait_out(error)

    async def _look_until_deleted(self, created: int) -> None:
        """Poll as well: a watch that hangs, or lost the one event that matters, must not prevent the takeover."""
        while True:
            await anyio.sleep(self._patience)
            try:
                if _created((await self.read()).leader) != created:
                    return
            except StoreError:
                continue  # the watch meets the same store, and logs the error

    def _shows_end(self, batch: WatchBatch, created: int) -> bool:
        return any(
            event.item.key == self.key and (event.deleted or event.item.create_revision != created)
            for event in batch.events
        )

    async def _read_back(self, cut: StoreUnavailable, still_time: Callable[[], bool]) -> Found:
        error: StoreError = cut
        while still_time():
            try:
                return await self.read()
            except StoreError as next_error:
                error = next_error
                await self._outage.wait_out(error)
        raise error


def _only(items: tuple[KeyValue, ...]) -> KeyValue | None:
    return items[0] if items else None


def _created(leader: KeyValue | None) -> int:
    return leader.create_revision if leader is not None else 0
