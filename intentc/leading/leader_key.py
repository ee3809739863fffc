"""Reads, takes, watches and deletes the leader's key, and encodes what stands in it.

The key holds the leader's name, address, process identity and versions; a second key records the versions of the last
leader that began to write.

State: ``election`` decides when to run, and waits out the store's outages here.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import anyio

from intentc.leading.process_identity import ProcessIdentity
from intentc.reconcile.backoff import Retries
from intentc.reconcile.failures import Failure, Unavailable
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
    Target,
    WatchBatch,
    absent,
    prefix_end,
)

Versions = Mapping[str, str]
"""Compiler → its version."""


class Leadership(NamedTuple):
    """``fence``: carried by every write, ``<installation>/<revision>``. ``revision``: the create revision of the
    leader's key. ``since``: Unix time in seconds. ``previous_versions``: of the last leader that recorded its own
    (``Election.record_versions``); None if none ever did."""

    fence: str
    revision: int
    since: float
    previous_versions: Versions | None = None


class Leader(NamedTuple):
    """The process that leads, and the address of its diagnostics, empty if unknown."""

    process: str
    address: str = ""


def leader_value(leader: Leader, versions: Versions, since: float, identity: ProcessIdentity | None = None) -> bytes:
    """The value of the leader's key. ``identity``: lets a successor prove the end of the process; None if unknown."""
    value = {**leader._asdict(), "versions": dict(versions), "since": since}
    if identity is not None:
        value["identity"] = identity._asdict()
    return json.dumps(value, sort_keys=True).encode()


def read_leader(value: bytes) -> Leader:
    """The inverse of ``leader_value``; a process ``unknown`` if the value can't be read."""
    try:
        found = json.loads(value)
        return Leader(str(found["process"]), str(found.get("address", "")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Leader("unknown")


def versions_value(versions: Versions) -> bytes:
    """The value of the key of the versions."""
    return json.dumps(dict(versions), sort_keys=True).encode()


def read_versions(value: bytes) -> Versions | None:
    """The inverse of ``versions_value``; None for any other value, which counts as never recorded."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return {str(name): str(version) for name, version in found.items()} if isinstance(found, dict) else None


_LOG = logging.getLogger(__name__)


class Outage:
    """The store's failures, as seen by one part of the process."""

    def __init__(self, retries: Retries) -> None:
        self._retries = retries
        self._logged = False

    async def wait_out(self, error: Failure) -> None:
        """Return when it is time to retry."""
        _LOG.log(logging.DEBUG if self._logged else logging.WARNING, "leader election waits for etcd: %s", error)
        self._logged = True
        await anyio.sleep(self._retries.next_wait())

    def over(self) -> None:
        """End the outage: the store works."""
        if self._logged:
            _LOG.info("leader election goes on: etcd answers again")
        self._logged = False
        self._retries.went_well()


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
        """Who leads now. Raises ``Failure``."""
        read = [Get(self.key), Get(self._versions_key)]
        answer = await self._store.transaction([], read)
        leader, versions = answer.results
        return Found(_only(leader), _only(versions), answer.revision)

    async def take(self, value: bytes, lease: int, still_time: Callable[[], bool]) -> Found:
        """Put the key if no process has it; the ``lease`` of the result shows who has it. Raises ``Failure``.

        If the answer is lost, the key is read back while there is ``still_time``. If ``Unavailable`` is raised, or
        the key is found absent, the transaction may still arrive: revoke the lease to prevent that.
        """
        read = [Get(self.key), Get(self._versions_key)]
        try:
            answer = await self._store.transaction([absent(self.key)], [Put(self.key, value, lease), *read], read)
        except Unavailable as error:
            return await self._read_back(error, still_time)
        leader, versions = answer.results[-2:]
        return Found(_only(leader), _only(versions), answer.revision)

    async def record_versions(self, value: bytes, created: int) -> bool:
        """Put the versions if the key still has this create revision; return whether it has. Raises ``Failure``."""
        holds = Compare(self.key, Target.CREATE_REVISION, Relation.EQUAL, created)
        return (await self._store.transaction([holds], [Put(self._versions_key, value)])).succeeded

    async def remove(self, holder: KeyValue) -> None:
        """Delete the key if it still is ``holder``, and revoke its lease. Raises ``Failure``; repeatable."""
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
            except Failure as error:
                seen = None
                await self._outage.wait_out(error)

    async def _look_until_deleted(self, created: int) -> None:
        """Poll as well: a watch that hangs, or lost the one event that matters, must not prevent the takeover."""
        while True:
            await anyio.sleep(self._patience)
            try:
                if _created((await self.read()).leader) != created:
                    return
            except Failure:
                continue  # the watch meets the same store, and logs the error

    def _shows_end(self, batch: WatchBatch, created: int) -> bool:
        return any(
            event.item.key == self.key and (event.deleted or event.item.create_revision != created)
            for event in batch.events
        )

    async def _read_back(self, cut: Unavailable, still_time: Callable[[], bool]) -> Found:
        error: Failure = cut
        while still_time():
            try:
                return await self.read()
            except Failure as next_error:
                error = next_error
                await self._outage.wait_out(error)
        raise error


def _only(items: tuple[KeyValue, ...]) -> KeyValue | None:
    return items[0] if items else None


def _created(leader: KeyValue | None) -> int:
    return leader.create_revision if leader is not None else 0


async def caught_up(store: Store, prefix: str, applied: int) -> int:
    """Return 0 if nothing under ``prefix`` was written after revision ``applied``; else the store's present revision.

    That revision must be applied before anything is written; ask again with the new ``applied`` until the result is 0.
    A store with a revision lower than ``applied`` was restored: list the world anew. Raises ``Failure``.

    The read is linearizable: after the election is won, it sees every write that a former leader's fence allowed. It
    does not see deletions, and need not: a view that lacks only deletions is the world at one moment, and every write
    from it is compare-and-set on that view, so a write to, below or towards a deleted object is rejected. Such a view
    errs by keeping objects until the deletion's event arrives, as with any leader whose watch lags for a moment.
    (Comparing revisions would never end: each heartbeat advances the store's counter, and the resources' watch does not
    report heartbeats.)
    """
    newer = await store.range(prefix, prefix_end(prefix), min_mod_revision=applied + 1, keys_only=True, limit=1)
    return newer.revision if newer.items or newer.revision < applied else 0
