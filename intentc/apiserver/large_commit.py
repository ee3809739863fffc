"""Commits a draft that needs more compares or operations than one transaction takes (docs/adr/0034).

Why it exists: the compares and index entries of a write grow with the number of its references, and etcd limits both in
one transaction (``--max-txn-ops``). A large commit takes the lock of the server path; every other commit compares that
the lock is absent. Under the lock the compares are checked in several transactions. Then one transaction writes the
resources, with the compares of their keys, and marks the lock. That decides the commit; watchers of the resources see
one revision. The rest, entries of the index and of pools, is stored next to the lock and follows in several
transactions; the last one releases the lock. If a server ends in between, the next commit on any server finishes what
is decided and takes back what is not. Each step compares the lock's revision, so a delayed step fails, whatever clocks
say.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from uuid import uuid4

import anyio
import msgspec

from intentc.reconcile.failures import Failure
from intentc.watch.protocol import Compare, Delete, Get, KeyValue, Operation, Put, Store, absent, unchanged

from .documents import decode_entry, encode
from .errors import BrokenEntry, from_store
from .layout import Layout

_PATIENCE_SECONDS = 5.0
"""How long the lock of another server may stay as it is before that server counts as ended."""
_LONGEST_PAUSE_SECONDS = 0.02


class _Lock(msgspec.Struct):
    """The value of the lock. ``server``: the process that took it, for its commit of this ``number``; ``decided``: the
    resources are written."""

    server: str
    number: int
    decided: bool = False


class Parts(NamedTuple):
    """The parts of a large commit. ``others``: compares that are checked before the deciding transaction; ``compares``
    and ``first``: what that one compares and writes; ``rest``: what is written afterwards."""

    others: Sequence[Compare]
    compares: Sequence[Compare]
    first: Sequence[Operation]
    rest: Sequence[Operation]


class LargeCommits:
    """The large commits of one process on one server path. ``limit``: operations that one transaction takes.

    ``turn``: held during a large commit; who was kept waiting by one may hold it during an attempt."""

    def __init__(self, store: Store, layout: Layout, limit: int) -> None:
        self.turn = anyio.Lock()
        self.is_absent = absent(layout.commit_lock())
        """The compare that every other commit needs."""
        self.is_there = Get(layout.commit_lock())
        """Reads the lock in the same transaction if a compare failed."""
        self._store = store
        self._lock = layout.commit_lock()
        self._rest = layout.commit_rest()
        # The lock and the fence are compared with each part, and the lock and its rest are written with some.
        self._size = max(1, limit - 2)
        self._server = uuid4().hex
        self._number = 0
        self._under_way = 0

    def divide(self, compares: Mapping[str, Compare], operations: Sequence[Operation]) -> Parts:
        """Divide a commit. ``compares``: by their keys; ``operations``: those that must be seen together come first."""
        first, rest = operations[: self._size], operations[self._size :]
        keys = {one.key for one in first}
        own = [compare for key, compare in compares.items() if key in keys][: self._size - 1]
        chosen = {compare.key for compare in own}
        return Parts([one for key, one in compares.items() if key not in chosen], own, first, rest)

    async def commit(self, parts: Parts, fence: Sequence[Compare], has_turn: bool) -> int | None:
        """Commit, in the event loop. Returns the revision of the resources, None if a compare failed or another server
        was faster. ``fence``: compared when the lock is taken and when the commit is decided. ``has_turn``: the caller
        holds ``turn``.

        Raises ``ApiError`` and ``Failure``."""
        if has_turn:
            return await self._commit(parts, fence)
        async with self.turn:
            return await self._commit(parts, fence)

    async def _commit(self, parts: Parts, fence: Sequence[Compare]) -> int | None:
        self._number += 1
        self._under_way = self._number
        try:
            taken = await self._store.transaction(
                [self.is_absent, *fence],
                [Put(self._lock, self._value(decided=False)), Put(self._rest, _packed(parts.rest))],
                [self.is_there],
            )
            if not taken.succeeded:
                for lock in taken.results[0]:
                    await self.wait(lock)
                return None
            decided = 0
            try:
                if await self._holds(taken.revision, parts.others):
                    decided = await self._decide(taken.revision, parts, fence)
            finally:
                if not decided:
                    # After an unknown outcome, too: if this succeeds, a delayed decision will fail.
                    await self._take_back(taken.revision)
            if decided:
                await self._finish(decided, parts.rest)
            return decided or None
        finally:
            self._under_way = 0

    async def over(self) -> None:
        """Wait until no large commit is under way."""
        while (lock := await self._read(self._lock)) is not None:
            await self.wait(lock)
            await anyio.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS))  # noqa: S311

    async def wait(self, lock: KeyValue) -> None:
        """Wait until the commit that holds ``lock`` is over. One whose server has ended is finished or taken back."""
        deadline = anyio.current_time() + _PATIENCE_SECONDS
        while True:
            found = decode_entry(lock.value, _Lock, lock.key)
            is_ours = found.server == self._server
            if is_ours and found.number == self._under_way:
                return  # who tries again waits for the turn
            if is_ours or anyio.current_time() > deadline:
                await self._end(lock, found)
                return
            await anyio.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS))  # noqa: S311
            current = await self._read(self._lock)
            if current is None:
                return
            if current.mod_revision != lock.mod_revision:
                lock, deadline = current, anyio.current_time() + _PATIENCE_SECONDS

    async def _holds(self, lock: int, compares: Sequence[Compare]) -> bool:
        """Whether the compares hold, and the lock is still ours."""
        for start in range(0, len(compares), self._size):
            part = compares[start : start + self._size]
            if not (await self._store.transaction([unchanged(self._lock, lock), *part], ())).succeeded:
                return False
        return True

    async def _decide(self, lock: int, parts: Parts, fence: Sequence[Compare]) -> int:
        mark = Put(self._lock, self._value(decided=True))
        compares = [unchanged(self._lock, lock), *fence, *parts.compares]
        answer = await self._store.transaction(compares, [mark, *parts.first])
        return answer.revision if answer.succeeded else 0

    def _value(self, *, decided: bool) -> bytes:
        return encode(_Lock(self._server, self._under_way, decided))

    async def _finish(self, lock: int, rest: Sequence[Operation]) -> None:
        """Write the rest and release the lock. What can't be written now, the next commit writes."""
        with anyio.CancelScope(shield=True):
            try:
                await self._write(lock, rest)
            except Failure:
                return

    async def _write(self, lock: int, rest: Sequence[Operation]) -> None:
        for start in range(0, max(1, len(rest)), self._size):
            part = list(rest[start : start + self._size])
            if start + self._size >= len(rest):
                part += [Delete(self._lock), Delete(self._rest)]
            if not (await self._store.transaction([unchanged(self._lock, lock)], part)).succeeded:
                return  # another server has finished it

    async def _take_back(self, lock: int) -> None:
        with anyio.CancelScope(shield=True):
            try:
                await self._store.transaction([unchanged(self._lock, lock)], [Delete(self._lock), Delete(self._rest)])
            except Failure:
                return  # the next commit does it

    async def _end(self, lock: KeyValue, found: _Lock) -> None:
        """Finish or take back the commit of a server that has ended."""
        try:
            if not found.decided:
                await self._store.transaction(
                    [unchanged(self._lock, lock.mod_revision)], [Delete(self._lock), Delete(self._rest)]
                )
                return
            rest = await self._read(self._rest)
            if rest is not None:
                await self._write(lock.mod_revision, list(_unpacked(rest)))
        except Failure as error:
            raise from_store(error, writing=False) from error

    async def _read(self, key: str) -> KeyValue | None:
        try:
            found = (await self._store.range(key)).items
        except Failure as error:
            raise from_store(error, writing=False) from error
        return found[0] if found else None


def _packed(operations: Sequence[Operation]) -> bytes:
    """Puts and deletes of single keys, compressed: the keys of one holder differ in little."""
    entries = [(one.key, one.value if isinstance(one, Put) else None) for one in operations]
    return zlib.compress(msgspec.msgpack.encode(entries), 1)


def _unpacked(item: KeyValue) -> Iterator[Operation]:
    try:
        entries = msgspec.msgpack.decode(zlib.decompress(item.value), type=list[tuple[str, bytes | None]])
    except (zlib.error, msgspec.MsgspecError) as error:
        raise BrokenEntry.at(item.key, str(error)) from None
    for key, value in entries:
        yield Delete(key) if value is None else Put(key, value)
