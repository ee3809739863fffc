"""Shares the tokens of log-ins between the API servers over one etcd.

Why it exists: a client that goes on with another server, or with the same one after its restart, must not log in again.
Each token has a key ``/intentc/apiserver/<path>/token/sha256/<digest>`` with a lease that ends with the token, so that
etcd never holds the token itself. Every server follows these keys (``watch/source.py``) into its ``Sessions``, which
answer requests without a read. A revoked or displaced token is a deleted key.

State: which tokens are in etcd, with their leases. It writes their keys.
"""

from __future__ import annotations

import logging
import time
from contextlib import aclosing, suppress

import anyio
import msgspec

from intentc.model.events import Change, Snapshot
from intentc.watch.protocol import Delete, Put, Store, StoreError
from intentc.watch.source import Source

from .auth import Keystone
from .errors import from_store
from .layout import Layout
from .logins import Session

_LOGGER = logging.getLogger(__name__)
_DIGEST = "sha256"


class _Stored(msgspec.Struct, frozen=True):
    """``expires``: seconds since 1970. The roles are not stored: they are those of the configuration."""

    user: str
    project: str
    expires: float
    lease: int


class SharedTokens:
    """The tokens that ``keystone`` and the other servers at ``path`` issue."""

    def __init__(self, store: Store, path: str, keystone: Keystone) -> None:
        self._store = store
        self._prefix = Layout(path).index("token")
        self._keystone = keystone
        self._source = Source(store, self._prefix)
        self._leases: dict[str, int] = {}
        self._listed = anyio.Event()

    async def listed(self) -> None:
        """Wait until the tokens that are in etcd are known."""
        await self._listed.wait()

    async def run(self) -> None:
        """Follow the tokens of all servers until cancelled."""
        async with aclosing(self._source.events()) as events:
            async for item in events:
                if isinstance(item, Snapshot):
                    for digest in self._leases.keys() - {change.uuid for change in item.changes}:
                        self._forget(digest)
                # The oldest first, since these are displaced first.
                for change in sorted(item.changes, key=lambda change: change.mod_revision):
                    self._apply(change)
                self._listed.set()

    async def publish(self, digest: str, session: Session, lifetime: float, displaced: list[str]) -> None:
        """Store a new token, and delete those that it displaces. Raises ``ApiError``: then no server knows it."""
        try:
            lease = await self._store.grant_lease(max(1, int(lifetime)))
            stored = _Stored(session.user, session.caller.project_id, time.time() + lifetime, lease)
            put = Put(self._key(digest), msgspec.json.encode(stored), lease)
            await self._store.transaction([], [put, *(Delete(self._key(one)) for one in displaced)])
        except StoreError as error:
            raise from_store(error, writing=False) from error
        self._leases[digest] = lease
        for one in displaced:
            await self._end_lease(one)

    async def revoke(self, digest: str) -> None:
        """Delete a token for all servers. Raises ``ApiError``."""
        try:
            await self._store.transaction([], [Delete(self._key(digest))])
        except StoreError as error:
            raise from_store(error, writing=True) from error
        await self._end_lease(digest)

    async def _end_lease(self, digest: str) -> None:
        lease = self._leases.pop(digest, 0)
        if lease:
            # Its key is deleted; a lease that stays ends by itself.
            with suppress(StoreError):
                await self._store.revoke_lease(lease)

    def _apply(self, change: Change) -> None:
        if change.value is None:
            self._forget(change.uuid)
            return
        try:
            stored = msgspec.json.decode(change.value, type=_Stored)
        except (msgspec.DecodeError, UnicodeDecodeError):
            _LOGGER.warning("the token at %s%s/%s can't be read and is not accepted", self._prefix, *change[:2])
            return
        self._leases[change.uuid] = stored.lease
        self._keystone.learn(change.uuid, stored.user, stored.project, stored.expires - time.time())

    def _forget(self, digest: str) -> None:
        self._leases.pop(digest, None)
        self._keystone.sessions.remove(digest)

    def _key(self, digest: str) -> str:
        return f"{self._prefix}{_DIGEST}/{digest}"
