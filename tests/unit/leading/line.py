"""One process's connection to the store, which a test can cut while others keep theirs.

Why it exists: the memory store's own faults strike everybody at once; an election is about one process that fails
while another does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
import anyio.lowlevel

from intentc.reconcile.failures import Unavailable
from intentc.watch.protocol import Compare, Operation, RangeResult, TransactionResult, Watch, WatchBatch, WatchProgress
from tests.support.faulty_store import FaultyStore

SLOW_SECONDS = 4.0
_Answer = TypeVar("_Answer")


class Line:
    """A ``Store``, as one process sees it."""

    def __init__(self, store: FaultyStore) -> None:
        self.store = store
        self.cut = False
        """Requests don't get through, and neither do a watch's events until it is repaired."""
        self.renewals_cut = False
        """Only keep-alives don't."""
        self.lose_answers = False
        """Grants and transactions that compare are carried out, and their answers are lost."""
        self.slow = False
        """Answers take ``SLOW_SECONDS``."""
        self.hold_back = 0
        """So many transactions get lost on the way, and arrive when ``deliver`` is called."""
        self.gate: asyncio.Future[None] | None = None
        """What a transaction's answer waits for."""
        self.calls = 0
        self.before_call: Callable[[], None] = lambda: None
        self._held: list[Callable[[], Awaitable[TransactionResult]]] = []

    async def deliver(self) -> None:
        """Let what was held back arrive now. Raises what the store says to it."""
        held, self._held = self._held, []
        for arrive in held:
            await arrive()

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
        self._pass()
        return await self.store.range(
            key,
            range_end,
            revision=revision,
            limit=limit,
            keys_only=keys_only,
            min_mod_revision=min_mod_revision,
        )

    async def transaction(
        self, compares: Sequence[Compare], success: Sequence[Operation], failure: Sequence[Operation] = ()
    ) -> TransactionResult:
        self._pass()
        if self.hold_back and compares:
            self.hold_back -= 1
            self._held.append(lambda: self.store.transaction(compares, success, failure))
            raise Unavailable("line: no answer yet")
        answer = await self.store.transaction(compares, success, failure)
        if self.gate is not None:
            await self.gate
        return await self._answered(answer, lose=bool(compares))

    @asynccontextmanager
    async def watch(self, prefixes: Sequence[str], start_revision: int) -> AsyncIterator[Watch]:
        self._pass()
        async with self.store.watch(prefixes, start_revision) as watch:
            yield _WatchedFrom(self, watch)

    async def grant_lease(self, ttl: int) -> int:
        self._pass()
        return await self._answered(await self.store.grant_lease(ttl))

    async def keep_lease_alive(self, lease: int) -> int:
        self._pass()
        if self.renewals_cut:
            raise Unavailable("line: renewals are cut")
        return await self._answered(await self.store.keep_lease_alive(lease), lose=False)

    async def revoke_lease(self, lease: int) -> None:
        self._pass()
        if self.slow:
            await anyio.sleep(SLOW_SECONDS)
        await self.store.revoke_lease(lease)

    async def compact(self, revision: int) -> None:
        await self.store.compact(revision)

    async def close(self) -> None:
        await anyio.lowlevel.checkpoint()

    def _pass(self) -> None:
        self.calls += 1
        self.before_call()
        if self.cut:
            raise Unavailable("line: cut")

    async def _answered(self, answer: _Answer, lose: bool = True) -> _Answer:
        if self.slow:
            await anyio.sleep(SLOW_SECONDS)
        if self.lose_answers and lose:
            raise Unavailable("line: the answer was lost")
        return answer


class _WatchedFrom:
    """A watch at the far end of a line."""

    def __init__(self, line: Line, watch: Watch) -> None:
        self.cluster_id = watch.cluster_id
        self._line = line
        self._items = aiter(watch)

    def __aiter__(self) -> _WatchedFrom:
        return self

    async def __anext__(self) -> WatchBatch | WatchProgress:
        item = await anext(self._items)
        while self._line.cut:  # noqa: ASYNC110 - a switch that tests turn at will
            await anyio.sleep(0.1)
        return item
