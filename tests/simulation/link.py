"""What lies between one process and the store: a connection that can be rejected, fall silent, or end with the process.

The store itself stays as it is for everybody else; what the faults mean for the process is for the process to find
out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any, NoReturn

from intentc.reconcile.failures import Unavailable
from intentc.watch.protocol import Compare, Operation, RangeResult, TransactionResult
from tests.support.faulty_store import FaultyStore, FaultyWatch

_DEADLINE = 5.0
"""Seconds after which a call that nobody answers is given up."""


class Condition(Enum):
    """Of a link. ``SILENT``: what is sent arrives nowhere, and nobody says so."""

    UP = "up"
    REJECTED = "rejected"
    SILENT = "silent"


class Link:
    """``Store`` for one process."""

    def __init__(self, store: FaultyStore) -> None:
        self._store = store
        self._condition = Condition.UP
        self._watches: dict[FaultyWatch, None] = {}
        self._dead = False
        self._healing: asyncio.TimerHandle | None = None

    def disturb(self, condition: Condition, seconds: float) -> None:
        """The link is like that for a while."""
        self.heal()
        self._condition = condition
        self._healing = asyncio.get_running_loop().call_later(seconds, self.heal)
        if condition is Condition.REJECTED:
            self.cut()
        else:
            self.silence()

    def heal(self) -> None:
        """New calls get through again; a watch that fell silent stays so, as a connection does whose peer is gone."""
        self._condition = Condition.UP
        if self._healing is not None:
            self._healing.cancel()

    def cut(self) -> None:
        """Open watches end with an error."""
        for watch in self._watches:
            watch.end(Unavailable("Watch: cut, as the test asked for"))

    def silence(self) -> None:
        """Open watches deliver nothing any more."""
        for watch in self._watches:
            watch.silent = True

    def die(self) -> None:
        """The process is gone: nothing of it reaches the store any more."""
        self._dead = True
        self.silence()

    async def range(self, *args: Any, **options: Any) -> RangeResult:
        return await self._through(self._store.range(*args, **options))  # type: ignore[no-any-return]

    async def transaction(
        self, compares: Sequence[Compare], success: Sequence[Operation], failure: Sequence[Operation] = ()
    ) -> TransactionResult:
        return await self._through(self._store.transaction(compares, success, failure))  # type: ignore[no-any-return]

    @asynccontextmanager
    async def watch(self, prefixes: Sequence[str], start_revision: int) -> AsyncIterator[FaultyWatch]:
        await self._through(asyncio.sleep(0))
        async with self._store.watch(prefixes, start_revision) as watch:
            self._watches[watch] = None
            try:
                yield watch
            finally:
                self._watches.pop(watch, None)

    async def grant_lease(self, ttl: int) -> int:
        return await self._through(self._store.grant_lease(ttl))  # type: ignore[no-any-return]

    async def keep_lease_alive(self, lease: int) -> int:
        return await self._through(self._store.keep_lease_alive(lease))  # type: ignore[no-any-return]

    async def revoke_lease(self, lease: int) -> None:
        await self._through(self._store.revoke_lease(lease))

    async def compact(self, revision: int) -> None:
        await self._through(self._store.compact(revision))

    async def close(self) -> None:
        self.cut()

    async def _through(self, call: Coroutine[Any, Any, Any]) -> Any:
        if self._dead:
            call.close()
            await nothing()
        if self._condition is Condition.UP:
            return await call
        call.close()
        condition = self._condition
        if condition is Condition.SILENT:
            await asyncio.sleep(_DEADLINE)
        raise Unavailable(f"the link is {condition.value}, as the test asked for")


async def nothing() -> NoReturn:
    """Wait for ever."""
    while True:
        await asyncio.get_running_loop().create_future()
