"""Answers large requests in threads, so that the event loop serves everybody else meanwhile.

Why it exists: admission, patches and the conversion of manifests are plain Python that takes about a microsecond a
byte, and nobody else is answered while they run in the loop. So a call that meets something large in the loop (a body,
or what it reads from etcd) is broken off before it works on it, and made again in a thread. There every access to the
store is carried out in the loop, so the code of a call is the same in both places, and etcd's clients stay in one loop.
Nothing is written before a call's last step, so one that is broken off has done nothing. Few threads work at once,
since they take turns with the loop; who would wait behind many others gets 429.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import anyio
import anyio.from_thread
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response

from intentc.loading.bodies import LARGEST
from intentc.watch.protocol import Compare, Operation, RangeResult, Store, TransactionResult

from .api_server import ApiServer
from .draft import MOST_ON_LOOP, NeedsThread
from .errors import ApiError, TooLarge, TooManyRequests

Result = TypeVar("Result")
Handler = Callable[[Request], Coroutine[Any, Any, Response]]

_AT_ONCE = 2
_MOST_WAITING = 200
_BODY = "intentc.body"
"""Where a request keeps its body between the loop and the thread."""


class Threads:
    """``server`` in the loop (``on_loop``), where a call may raise ``NeedsThread``, and in threads (``in_thread``)."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.on_loop = server.over(server.store, most_read=MOST_ON_LOOP)
        self.in_thread = server.over(cast(Store, _StoreOfLoop(server.store)), pause=_pause)
        self._limiter = anyio.CapacityLimiter(_AT_ONCE)

    def endpoint(self, on_loop: Handler, in_thread: Handler, failed: Callable[[ApiError], Response]) -> Handler:
        """A handler that does as both do, where it must. ``failed``: the answer if too many requests wait."""

        async def answer(request: Request) -> Response:
            request.scope[_BODY] = None
            try:
                return await on_loop(request)
            except NeedsThread:
                pass
            try:
                return await self._driven(partial(in_thread, request))
            except TooManyRequests as error:
                return failed(error)

        return answer

    async def call(self, work: Callable[[ApiServer], Coroutine[Any, Any, Result]]) -> Result:
        """What ``work`` returns for a server. Raises ``TooManyRequests`` and what ``work`` raises."""
        try:
            return await work(self.on_loop)
        except NeedsThread:
            return await self._driven(partial(work, self.in_thread))

    async def run(self, size: int, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call a function of values, in a thread if they have many bytes."""
        if size <= MOST_ON_LOOP:
            return function(*arguments)
        return await anyio.to_thread.run_sync(partial(function, *arguments), limiter=self._limiter)

    async def _driven(self, call: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        if self._limiter.statistics().tasks_waiting >= _MOST_WAITING:
            raise TooManyRequests("the server works on many large requests; try again")
        return await anyio.to_thread.run_sync(_drive, call, limiter=self._limiter)


async def read_body(request: Request, largest: int = LARGEST) -> bytes:
    """Read a request's body. Raises ``TooLarge``, and ``NeedsThread`` for one that a thread works on: it finds it."""
    kept: bytes | None = request.scope.get(_BODY)
    if kept is not None:
        return kept
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > largest:
            raise TooLarge(f"the body is larger than {largest:,} bytes; split the request")
        parts.append(part)
    body = b"".join(parts)
    if _BODY in request.scope:
        request.scope[_BODY] = body
        if len(body) > MOST_ON_LOOP:
            raise NeedsThread
    return body


def _drive(call: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Run a coroutine that waits for nothing, since its store answers in the loop before it goes on."""
    coroutine = call()
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    coroutine.close()
    raise RuntimeError("a call in a thread waits for the event loop")


async def _pause(seconds: float) -> None:
    time.sleep(seconds)  # noqa: ASYNC251  # in a thread of its own


class _StoreOfLoop:
    """A store for a thread: each call is carried out in the loop, and the thread waits for it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def range(self, *arguments: Any, **options: Any) -> RangeResult:
        return anyio.from_thread.run(partial(self._store.range, *arguments, **options))

    async def transaction(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TransactionResult:
        return anyio.from_thread.run(self._store.transaction, compares, then, otherwise)

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"a call in a thread may read and write; it asks for {name}")
