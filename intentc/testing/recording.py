"""Records what an engine under test writes, allocates and frees, before it reaches the API server.

A test may put a ``WriteService`` of its own in between, mostly a mock: it is called before each write, and what it
raises is the failure of that write.
"""

from __future__ import annotations

from typing import Any

from intentc.model import AddReference, Create, Delete, Operation, RemoveReference, Update, UpdateStatus
from intentc.writing import WriteService, Written


class Recording:
    """A ``WriteService`` that passes everything on to ``target``, and calls ``between`` before, if there is one.

    ``written``: the operations so far, acknowledged or not; ``granted`` and ``freed``: the owners of requested and
    freed numbers.
    """

    def __init__(self, target: WriteService) -> None:
        self.target = target
        self.between: WriteService | None = None
        self.written: list[Operation] = []
        self.granted: list[str] = []
        self.freed: list[str] = []

    @property
    def calls(self) -> int:
        """The number of changing calls."""
        return len(self.written) + len(self.granted) + len(self.freed)

    async def create(self, operation: Create, fence: str | None = None, /) -> Written:
        return await self._write("create", operation, fence)

    async def update(self, operation: Update, fence: str | None = None, /) -> Written:
        return await self._write("update", operation, fence)

    async def delete(self, operation: Delete, fence: str | None = None, /) -> Written:
        return await self._write("delete", operation, fence)

    async def add_ref(self, operation: AddReference, fence: str | None = None, /) -> Written:
        return await self._write("add_ref", operation, fence)

    async def remove_ref(self, operation: RemoveReference, fence: str | None = None, /) -> Written:
        return await self._write("remove_ref", operation, fence)

    async def update_status(self, operation: UpdateStatus, fence: str | None = None, /) -> Written:
        return await self._write("update_status", operation, fence)

    async def allocate(self, pool: str, owner: str, fence: str | None = None, /) -> int:
        self.granted.append(owner)
        number: int = await self._call("allocate", pool, owner, fence)
        return number

    async def free(self, pool: str, owner: str, value: int, fence: str | None = None, /) -> None:
        self.freed.append(owner)
        await self._call("free", pool, owner, value, fence)

    async def _write(self, method: str, operation: Operation, fence: str | None) -> Written:
        self.written.append(operation)
        written: Written = await self._call(method, operation, fence)
        return written

    async def _call(self, method: str, *arguments: Any) -> Any:
        if self.between is not None:
            await getattr(self.between, method)(*arguments)
        return await getattr(self.target, method)(*arguments)
