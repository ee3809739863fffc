"""Declares the two interfaces to the API server, and a write service that only records.

The engine, tests of intents and dry runs know only these protocols; ``http.py`` and ``apiserver.local`` implement them,
``DryRun`` the writes alone, and tests mock them. Each write is of one object; implementations may gather writes
into requests. The engine decides what a failure means for the object (docs/engine.md §6.3).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from intentc.model import AddReference, Create, Delete, Key, Name, Operation, RemoveReference, Update, UpdateStatus
from intentc.reconcile.failures import Rejected


class Written(NamedTuple):
    """An acknowledged write. ``revision``: the etcd revision that it made, None if the server doesn't report it."""

    revision: int | None


class ReadBack(NamedTuple):
    """One object on the server: its JSON without envelope, and the revision of its last write.

    The revision is None if the server doesn't report it. The JSON may have computed fields (children, back references).
    """

    value: bytes
    revision: int | None


class Allocation(NamedTuple):
    """One number that an owner holds."""

    pool: str
    owner: str
    value: int


class WriteService(Protocol):
    """Writes single objects.

    ``fence`` (``<installation>/<revision>``): the server rejects the write once another compiler leads. Every method
    raises a subclass of ``Failure`` if the write isn't acknowledged.
    """

    async def create(self, operation: Create, fence: str | None = None, /) -> Written:
        """Create an object that must not exist yet."""
        ...

    async def update(self, operation: Update, fence: str | None = None, /) -> Written:
        """Replace whole fields, if the object is still at ``operation.revision``."""
        ...

    async def delete(self, operation: Delete, fence: str | None = None, /) -> Written:
        """Delete an object, if it is still at ``operation.revision``."""
        ...

    async def add_ref(self, operation: AddReference, fence: str | None = None, /) -> Written:
        """Add one reference, or replace its attribute; idempotent."""
        ...

    async def remove_ref(self, operation: RemoveReference, fence: str | None = None, /) -> Written:
        """Remove one reference; idempotent."""
        ...

    async def update_status(self, operation: UpdateStatus, fence: str | None = None, /) -> Written:
        """Replace items of an object's status, and nothing else; idempotent."""
        ...

    async def allocate(self, pool: str, owner: str, fence: str | None = None, /) -> int:
        """Allocate a number of ``pool`` to ``owner``: its existing one, or the lowest free one."""
        ...

    async def free(self, pool: str, owner: str, value: int, fence: str | None = None, /) -> None:
        """Free a number; idempotent."""
        ...


class ReadService(Protocol):
    """Reads back. Methods raise ``Unavailable``, ``Throttled`` or ``Rejected``."""

    async def read(self, key: Key, /) -> ReadBack | None:
        """Read one object; None if it does not exist."""
        ...

    async def identify(self, name: Name, /) -> Key | None:
        """The object that has this name now; None if there is none."""
        ...

    async def all_allocations(self, owner_prefix: str, /) -> tuple[Allocation, ...]:
        """The allocations in all pools, and families of pools, that compilers use, of owners whose name begins with
        ``owner_prefix``."""
        ...


class DryRun:
    """A write service for audits and tests of intents, which sends nothing, and acknowledges every write without a
    revision. ``operations``: the calls in order; ``requested``: (pool, owner); ``freed``: (pool, owner, value)."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.requested: list[tuple[str, str]] = []
        self.freed: list[tuple[str, str, int]] = []

    async def create(self, operation: Create, fence: str | None = None) -> Written:
        return self._record(operation)

    async def update(self, operation: Update, fence: str | None = None) -> Written:
        return self._record(operation)

    async def delete(self, operation: Delete, fence: str | None = None) -> Written:
        return self._record(operation)

    async def add_ref(self, operation: AddReference, fence: str | None = None) -> Written:
        return self._record(operation)

    async def remove_ref(self, operation: RemoveReference, fence: str | None = None) -> Written:
        return self._record(operation)

    async def update_status(self, operation: UpdateStatus, fence: str | None = None) -> Written:
        return self._record(operation)

    async def allocate(self, pool: str, owner: str, fence: str | None = None) -> int:
        """Always raises ``Rejected``: only the server can allocate; callers show a placeholder (docs/engine.md §8)."""
        self.requested.append((pool, owner))
        raise Rejected(403, f"a dry run allocates no number of {pool} to {owner}")

    async def free(self, pool: str, owner: str, value: int, fence: str | None = None) -> None:
        self.freed.append((pool, owner, value))

    def _record(self, operation: Operation) -> Written:
        self.operations.append(operation)
        return Written(None)
