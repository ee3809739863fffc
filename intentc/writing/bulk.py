"""Gathers writes: those of one turn of the loop, and those that wait for a connection, share a ``POST /sync``.

Why it exists: a request of any size costs client and server 0.5 ms each; a hundred writes in one request share that,
and one etcd transaction. There is no timer: where a connection is free, the writes of one turn are sent at its end, a
single one alone; the others wait for a connection, and are gathered meanwhile. A batch is one transaction, so one bad
item fails all: the item that the server names gets its error, and the others are sent again; if it names none, the
batch is halved until the bad item is alone. ``encode.py`` encodes operations; single references and allocations are
sent by ``http.py``.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from intentc.model import Key, described
from intentc.reconcile.failures import Conflict, Failure, Rejected, Unavailable, UnknownOutcome

from .answers import Answer, failure
from .connection import Connection, fence_header
from .encode import Mutation
from .interfaces import Written

_LOG = logging.getLogger(__name__)

_TOO_LARGE = 413
_LOGGED_KEYS = 20
"""Keys of a batch that a log line names."""
_FULL_BATCHES_TO_GROW = 16


class _Waiting:
    """A submitted write. ``future``: its outcome, or a ``Failure``; cancelled if the caller no longer waits.
    ``over``: the outcome is known."""

    __slots__ = ("fence", "future", "item", "mutation", "over")

    def __init__(self, mutation: Mutation, fence: str | None) -> None:
        self.mutation = mutation
        self.fence = fence
        self.item = mutation.item
        self.over = False
        self.future: asyncio.Future[Written] = asyncio.get_running_loop().create_future()


class Gatherer:
    """Sends the writes of whole objects, and of statuses, to the server.

    Callers write one object one at a time (``Turns``), so that no batch holds an object twice. ``ended`` is called when
    that write is over, even if its caller no longer waits.
    """

    def __init__(self, connection: Connection, ended: Callable[[Key], None]) -> None:
        self._connection = connection
        self._ended = ended
        self._capabilities = connection.capabilities
        self._endpoint = connection.endpoint
        self._size = connection.endpoint.batch_items
        self._full_batches = 0
        self._waiting: deque[_Waiting] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._flushing = False
        self._closed = False

    def submit(self, mutation: Mutation, fence: str | None) -> asyncio.Future[Written]:
        """Submit a write; the future has its outcome, or raises a ``Failure``.

        Cancelling the future cancels the write if it was not sent yet, and otherwise changes nothing.
        """
        waiting = _Waiting(mutation, fence)
        if self._closed:
            self._settle(waiting, Unavailable("the write service is closed"))
        else:
            self._waiting.append(waiting)
            self._flush_soon()
        return waiting.future

    async def aclose(self) -> None:
        """Wait for writes under way; waiting ones fail with ``Unavailable``."""
        self._closed = True
        while self._waiting:
            self._settle(self._waiting.popleft(), Unavailable("the write service is closed"))
        try:
            while self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            for task in self._tasks:
                task.cancel()

    def _flush_soon(self) -> None:
        # At the end of this turn of the loop, so that writes submitted in one turn are sent together.
        if not self._flushing:
            self._flushing = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        slots = self._endpoint.batches if self._capabilities.bulk else self._endpoint.singles
        while len(self._tasks) < slots and (batch := self._take()):
            task = asyncio.create_task(self._carry_out(batch), name=f"write {len(batch)} objects")
            self._tasks.add(task)
            task.add_done_callback(self._carried_out)

    def _carried_out(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._waiting:
            self._flush_soon()

    def _take(self) -> list[_Waiting]:
        """The next writes that may go together: of one fence, and deletes apart from others, since a server sorts
        those the other way round (docs/contrail.md B.2)."""
        most = min(self._size, self._capabilities.operations or self._size) if self._capabilities.bulk else 1
        batch: list[_Waiting] = []
        size = 0
        while self._waiting and len(batch) < most:
            waiting = self._waiting[0]
            if waiting.future.cancelled():
                self._ended(self._waiting.popleft().mutation.key)
                continue
            size += len(waiting.item)
            if batch and (size > self._endpoint.batch_bytes or not _go_together(batch[0], waiting)):
                break
            batch.append(self._waiting.popleft())
        return batch

    async def _carry_out(self, batch: list[_Waiting]) -> None:
        try:
            await self._send(batch)
        except Failure as error:
            for waiting in batch:
                self._settle(waiting, error)
        except Exception as error:
            keys = [str(waiting.mutation.key) for waiting in batch[:_LOGGED_KEYS]]
            _LOG.exception("writing failed unexpectedly", extra={"keys": keys})
            for waiting in batch:
                self._settle(waiting, UnknownOutcome(f"{described(error)} while writing"))
        except asyncio.CancelledError:
            for waiting in batch:
                self._settle(waiting, UnknownOutcome("cancelled while writing"))
            raise

    async def _send(self, batch: list[_Waiting]) -> None:
        while len(batch) > 1 and self._capabilities.bulk:
            if self._capabilities.operations is None:
                await self._capabilities.learn(self._connection)
            if len(batch) > (self._capabilities.operations or len(batch)):
                await self._halve(batch)
                return
            rejected = await self._together(batch)
            if rejected is None:
                return
            batch = [waiting for waiting in batch if waiting is not rejected]
        for waiting in batch:
            await self._alone(waiting)

    async def _together(self, batch: list[_Waiting]) -> _Waiting | None:
        """Send a batch as one request.

        If the server rejects it and names an item, settles that item and returns it; the others must be sent again.
        Otherwise all are settled, and it returns None. Raises errors that concern the whole batch.
        """
        body = b'{"resources":[%b]}' % b",".join(waiting.item for waiting in batch)
        fence = fence_header(batch[0].fence)
        answer = await self._connection.send("POST", "/sync", body, fence)
        if answer.ok:
            self._acknowledge(batch, answer)
            return None
        error = failure(answer)
        if answer.no_route:
            self._capabilities.note_no_bulk()
        elif answer.status == _TOO_LARGE:
            # At least two: a single item that is too large says nothing about batches, and only batches grow again.
            self._size = max(2, len(batch) // 2)
            self._full_batches = 0
        elif not isinstance(error, Conflict | Rejected):
            raise error
        elif answer.item is not None and 0 <= answer.item < len(batch):
            rejected = batch[answer.item]
            self._settle(rejected, failure(answer.of_item, relates=rejected.mutation.relates))
            return rejected
        await self._halve(batch)
        return None

    async def _halve(self, batch: list[_Waiting]) -> None:
        middle = len(batch) // 2
        for half in (batch[:middle], batch[middle:]):
            try:
                await self._send(half)
            except Failure as error:
                for waiting in half:
                    self._settle(waiting, error)

    async def _alone(self, waiting: _Waiting) -> None:
        mutation = waiting.mutation
        headers = {**mutation.headers, **fence_header(waiting.fence)}
        answer = await self._connection.send(mutation.method, mutation.path, mutation.body, headers)
        if answer.ok:
            self._settle(waiting, Written(self._capabilities.note(answer)))
        else:
            error = failure(answer if answer.item is None else answer.of_item, relates=mutation.relates)
            self._settle(waiting, error)

    def _acknowledge(self, batch: list[_Waiting], answer: Answer) -> None:
        written = Written(self._capabilities.note(answer))
        for waiting in batch:
            self._settle(waiting, written)
        if len(batch) >= self._size:
            # A batch that was too large may have been an exception, so the size grows again.
            self._full_batches += 1
            if self._full_batches >= _FULL_BATCHES_TO_GROW:
                self._full_batches = 0
                self._size = min(self._endpoint.batch_items, self._size + self._size // 2)

    def _settle(self, waiting: _Waiting, outcome: Written | Failure) -> None:
        """Settle a write. The first outcome counts: an error of the batch does not change earlier ones."""
        if waiting.over:
            return
        waiting.over = True
        self._ended(waiting.mutation.key)
        future = waiting.future
        if future.cancelled():
            return
        if isinstance(outcome, Failure):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


def _go_together(first: _Waiting, other: _Waiting) -> bool:
    return first.fence == other.fence and (first.mutation.operation == "DELETE") == (
        other.mutation.operation == "DELETE"
    )
