"""A write service that only records: for audits, and for tests of intents.

It acknowledges every write without a revision. It allocates no numbers, since only the server can; callers show a
placeholder instead (docs/engine.md §8). ``--observe`` does without it: ``engine/permission.py`` withholds the writes.

State: the recorded calls. Nothing is sent.
"""

from __future__ import annotations

from intentc.model import AddReference, Create, Delete, Operation, RemoveReference, Update, UpdateStatus
from intentc.reconcile.failures import Rejected

from .service import Written


class DryRun:
    """Records calls in order: ``operations``; ``requested``: (pool, owner); ``freed``: (pool, owner, value)."""

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
        """Record the request. Always raises ``Rejected``."""
        self.requested.append((pool, owner))
        raise Rejected(403, f"a dry run allocates no number of {pool} to {owner}")

    async def free(self, pool: str, owner: str, value: int, fence: str | None = None) -> None:
        self.freed.append((pool, owner, value))

    def _record(self, operation: Operation) -> Written:
        self.operations.append(operation)
        return Written(None)
