"""What an engine under test writes: handed on to whoever answers, and noted in order.

Two who answer beside a mock: the API server in this process, and one for the time before the test begins, who
acknowledges everything and gives numbers, so that what follows from the cached resources counts as done.
"""

from __future__ import annotations

import itertools

from intentc.model import AddReference, Create, Delete, Operation, RemoveReference, Update
from intentc.writing import WriteService, Written
from intentc.writing.dry_run import DryRun


class Recording:
    """A ``WriteService`` that hands everything on to ``target``. ``written``: the operations asked for so far, whether
    they were acknowledged or not; ``granted`` and ``freed``: the owners of numbers asked for and given back."""

    def __init__(self, target: WriteService) -> None:
        self.target = target
        self.written: list[Operation] = []
        self.granted: list[str] = []
        self.freed: list[str] = []

    @property
    def calls(self) -> int:
        """How often the server was asked to change anything."""
        return len(self.written) + len(self.granted) + len(self.freed)

    async def create(self, operation: Create, fence: str | None = None, /) -> Written:
        self.written.append(operation)
        return await self.target.create(operation, fence)

    async def update(self, operation: Update, fence: str | None = None, /) -> Written:
        self.written.append(operation)
        return await self.target.update(operation, fence)

    async def delete(self, operation: Delete, fence: str | None = None, /) -> Written:
        self.written.append(operation)
        return await self.target.delete(operation, fence)

    async def add_ref(self, operation: AddReference, fence: str | None = None, /) -> Written:
        self.written.append(operation)
        return await self.target.add_ref(operation, fence)

    async def remove_ref(self, operation: RemoveReference, fence: str | None = None, /) -> Written:
        self.written.append(operation)
        return await self.target.remove_ref(operation, fence)

    async def allocate(self, pool: str, owner: str, fence: str | None = None, /) -> int:
        """Raises ``TypeError`` if a mock gives something else than a number."""
        self.granted.append(owner)
        number = await self.target.allocate(pool, owner, fence)
        if not isinstance(number, int):
            raise TypeError(f"allocate gave {number!r} for {owner}; set write_service.allocate.return_value to an int")
        return number

    async def free(self, pool: str, owner: str, value: int, fence: str | None = None, /) -> None:
        self.freed.append(owner)
        await self.target.free(pool, owner, value, fence)


class Acknowledging(DryRun):
    """Acknowledges everything; numbers are 1, 2, 3, …"""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count(1)

    async def allocate(self, pool: str, owner: str, fence: str | None = None) -> int:
        return next(self._numbers)
