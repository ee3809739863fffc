"""The store as the rest of intentc sees it: etcd v3's model, reduced to the calls that we use.

The same code runs over a real etcd (``etcd.py``) and over the memory store (``memory.py``), and one conformance suite
tests both. Keys are text, values are bytes. Revisions are etcd's: one counter for the whole store, raised once by each
transaction that writes.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from intentc.reconcile.failures import Expired, Failure


class LeaseNotFound(Expired):
    """A lease that a call names has expired or was revoked: grant another."""


class FutureRevision(Failure):
    """The requested revision does not exist yet: the store was restored to an older state, or the number is wrong."""


class Compacted(Expired):
    """The requested revision is compacted. ``compact_revision``: the oldest one that can still be read; 0 if the store
    did not report it (etcd reports it only to watches)."""

    def __init__(self, compact_revision: int = 0) -> None:
        oldest = f"; the oldest readable one is {compact_revision}" if compact_revision else ""
        super().__init__(f"revision is compacted{oldest}")
        self.compact_revision = compact_revision


class StoreFull(Failure):
    """The store accepts no more writes: its space is used up. It can still be read; nothing was written."""

    concerns_all = True


class TooManyOperations(Failure):
    """A transaction has more compares, or more operations in one branch, than the store accepts (etcd's
    ``--max-txn-ops``, 128 by default)."""


class RequestTooLarge(Failure):
    """A request has more bytes than the store accepts (etcd's ``--max-request-bytes``, 1,572,864 by default): nothing
    was written."""


class KeyValue(NamedTuple):
    """One key at one revision."""

    key: str
    value: bytes
    create_revision: int
    mod_revision: int
    version: int = 1
    lease: int = 0


class RangeResult(NamedTuple):
    """``items`` in key order; ``more`` if a limit cut them; ``count`` of all keys in the range; the header's
    ``revision`` and ``cluster_id``."""

    items: tuple[KeyValue, ...]
    more: bool
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody calls on a result
    revision: int
    cluster_id: int


class Target(enum.Enum):
    """What a compare looks at."""

    CREATE_REVISION = "create_revision"
    MOD_REVISION = "mod_revision"


class Relation(enum.Enum):
    """How a compare relates what it looks at to its number."""

    EQUAL = "="
    GREATER = ">"
    LESS = "<"


class Compare(NamedTuple):
    """True if every key in [key, range_end) stands in ``relation`` to ``number``; ``range_end`` empty: just ``key``.

    An absent key counts as create and mod revision 0. Over an empty range a compare is true.
    """

    key: str
    target: Target
    relation: Relation
    number: int
    range_end: str = ""


class Put(NamedTuple):
    """Write one key."""

    key: str
    value: bytes
    lease: int = 0


class Delete(NamedTuple):
    """Delete one key, or all in [key, range_end)."""

    key: str
    range_end: str = ""


class Get(NamedTuple):
    """Read one key, or all in [key, range_end), inside a transaction."""

    key: str
    range_end: str = ""
    limit: int = 0
    keys_only: bool = False


Operation = Put | Delete | Get


class TransactionResult(NamedTuple):
    """Which branch ran, at which revision, and what its ``Get`` operations found (in their order, others ``()``)."""

    succeeded: bool
    revision: int
    results: tuple[tuple[KeyValue, ...], ...]


class WatchEvent(NamedTuple):
    """One changed key. A deletion has ``deleted`` true, an empty value, and its own revision as mod_revision."""

    item: KeyValue
    deleted: bool


class WatchBatch(NamedTuple):
    """All events of one revision under one of the watched prefixes, fragments merged, in the order in which the
    transaction made them.

    A transaction that writes below two watched prefixes arrives as one batch for each, in no fixed order (etcd's own
    watchers do the same): what must stay together belongs under one prefix.
    """

    revision: int
    events: tuple[WatchEvent, ...]
    prefix: str = ""


class WatchProgress(NamedTuple):
    """Everything up to ``revision`` has been delivered, for all prefixes; sent while nothing happens."""

    revision: int


class Watch(Protocol):
    """An open watch: iterate it for batches, of each prefix in revision order.

    Iteration raises ``Compacted``, ``Unavailable`` or ``Failure`` when the watch ends; it never ends
    silently. After a cancelled ``__anext__`` the watch is of no further use.
    """

    @property
    def cluster_id(self) -> int: ...

    def __aiter__(self) -> AsyncIterator[WatchBatch | WatchProgress]: ...


class Store(Protocol):
    """An etcd, real or in memory. Every call raises ``Failure`` or one of its kinds, never a client's own error."""

    async def range(
        self,
        key: str,
        range_end: str = "",
        *,
        revision: int = 0,
        limit: int = 0,
        keys_only: bool = False,
        min_mod_revision: int = 0,
    ) -> RangeResult:
        """Read [key, range_end) (just ``key`` if empty) at ``revision`` (0: now, linearizable)."""
        ...

    async def transaction(
        self,
        compares: Sequence[Compare],
        success: Sequence[Operation],
        failure: Sequence[Operation] = (),
    ) -> TransactionResult:
        """If all compares hold run ``success``, else ``failure``; atomically, in one revision."""
        ...

    def watch(self, prefixes: Sequence[str], start_revision: int) -> AbstractAsyncContextManager[Watch]:
        """Watch several prefixes on one stream of its own from ``start_revision`` on (0 raises ``ValueError``)."""
        ...

    async def grant_lease(self, ttl: int) -> int:
        """A new lease of ``ttl`` seconds; its id."""
        ...

    async def keep_lease_alive(self, lease: int) -> int:
        """Renew once; the seconds left. 0: the lease is lost."""
        ...

    async def revoke_lease(self, lease: int) -> None:
        """End a lease; its keys are deleted."""
        ...

    async def compact(self, revision: int) -> None:
        """Forget everything older than ``revision`` (tests and tools)."""
        ...

    async def close(self) -> None:
        """Close connections; open watches end. Later calls raise ``Failure``."""
        ...


def prefix_end(prefix: str) -> str:
    """The end of the range of all keys with ``prefix``: ``prefix_end("/a/") == "/a0"``."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def absent(key: str) -> Compare:
    """True while ``key`` does not exist."""
    return Compare(key, Target.CREATE_REVISION, Relation.EQUAL, 0)


def present(key: str) -> Compare:
    """True while ``key`` exists."""
    return Compare(key, Target.CREATE_REVISION, Relation.GREATER, 0)


def unchanged(key: str, mod_revision: int) -> Compare:
    """True while ``key`` stands as it was written at ``mod_revision``."""
    return Compare(key, Target.MOD_REVISION, Relation.EQUAL, mod_revision)
