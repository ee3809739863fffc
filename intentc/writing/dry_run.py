"""A write service that only writes down: for ``--observe``, plans and tests.

It answers as if every write had been acknowledged by a server that tells no revision. Numbers can't be made up, so it
gives none; whoever runs dry shows a placeholder instead (docs/engine.md §8).
"""

from __future__ import annotations

from intentc.model import AddReference, Create, Delete, Operation, RemoveReference, Update

from .service import Rejected, Written


class DryRun:
    """``operations``: every write that was asked for, in order. ``wished``: (pool, owner) of every number.
    ``freed``: (pool, owner, value) of every number given back."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.wished: list[tuple[str, str]] = []
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

    async def allocate(self, pool: str, owner: str, fence: str | None = None) -> int:
        """Raises ``Rejected`` always."""
        self.wished.append((pool, owner))
        raise Rejected(403, f"a dry run gives no number of {pool} to {owner}")

    async def free(self, pool: str, owner: str, value: int, fence: str | None = None) -> None:
        self.freed.append((pool, owner, value))

    def _record(self, operation: Operation) -> Written:
        self.operations.append(operation)
        return Written(None)
