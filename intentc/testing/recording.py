"""Records what an engine under test writes, allocates and frees, and passes it on to a target.

The target is a mock, the API server in this process, or ``Acknowledging``: it acknowledges everything and allocates
numbers, so that a service with a mock can compile its cached resources before the test begins.

State: the target, the recorded calls, and the next number, in memory.
"""

from __future__ import annotations

import itertools

from intentc.model import AddReference, Create, Delete, Operation, RemoveReference, Update, UpdateStatus
from intentc.writing import WriteService, Written
from intentc.writing.service import DryRun


class Recording:
    """A ``WriteService`` that passes everything on to ``target``.

    ``written``: the operations so far, acknowledged or not; ``granted`` and ``freed``: the owners of requested and
    freed numbers.
    """

    def __init__(self, target: WriteService) -> None:
        self.target = target
        self.written: list[Operation] = []
        self.granted: list[str] = []
        self.freed: list[str] = []

    @property
    def calls(self) -> int:
        """The number of changing calls."""
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

    async def update_status(self, operation: UpdateStatus, fence: str | None = None, /) -> Written:
        self.written.append(operation)
        return await self.target.update_status(operation, fence)

    async def allocate(self, pool: str, owner: str, fence: str | None = None, /) -> int:
        """Allocate a number. Raises ``TypeError`` if a mock returns something else."""
        self.granted.append(owner)
        number = await self.target.allocate(pool, owner, fence)
        if not isinstance(number, int):
            raise TypeError(f"allocate gave {number!r} for {owner}; set write_service.allocate.return_value to an int")
        return number

    async def free(self, pool: str, owner: str, value: int, fence: str | None = None, /) -> None:
        self.freed.append(owner)
        await self.target.free(pool, owner, value, fence)


class Acknowledging(DryRun):
    """Acknowledges everything and allocates the numbers 1, 2, 3, …"""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count(1)

    async def allocate(self, pool: str, owner: str, fence: str | None = None) -> int:
        return next(self._numbers)
