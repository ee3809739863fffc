"""The answer to a watch: one JSON object a line, until the client goes, the time is over, the server drains,
or an error ends it.

Why it exists: a watch holds a watch of etcd, which must be closed in the task that opened it, also if the client
disconnects while nothing happens. An error is the last line, of type ``ERROR``. Clients that want
bookmarks get one every 30 s. ``watches`` makes the events.

State: whether the columns of the table, and the end, were sent.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import anyio
import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ..errors import ApiError
from . import tables
from .catalog import Offered
from .failures import failure
from .watches import BOOKMARK, Event, Watching

BETWEEN_BOOKMARKS = 30.0
"""Seconds; a kube-apiserver sends one each minute, and clients take a silent watch for dead."""
_LONGEST = 3600
"""Seconds that a watch lasts at most, and if the client does not say."""


class EventStream(Response):
    """Streams the events of ``watching``. ``seconds``: how long, 0 for the default; ``ended``: called once, at the end;
    ``version``: of the tables in which
    resources are shown, empty for resources; ``included``: what a table's row carries; ``is_ending``: set when the
    server drains."""

    media_type = "application/json"

    def __init__(
        self,
        watching: Watching,
        offered: Offered,
        seconds: int,
        ended: Callable[[], None],
        version: str,
        included: str,
        is_ending: anyio.Event,
    ) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers({"Cache-Control": "no-cache, private"})
        self._watching = watching
        self._offered = offered
        self._seconds = min(seconds or _LONGEST, _LONGEST)
        self._ended = ended
        self._version = version
        self._included = included
        self._is_ending = is_ending
        self._has_headings = False
        self._has_ended = False
        self._sending = anyio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._stream(receive, send)
        finally:
            self._ended()

    async def _stream(self, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_disconnected, receive, tasks.cancel_scope)
            tasks.start_soon(self._send_bookmarks, send)
            with anyio.move_on_after(self._seconds) as lasting:
                tasks.start_soon(_ended, self._is_ending, lasting)
                async with aclosing(self._lines()) as lines:
                    async for line in lines:
                        await self._send(send, line)
            self._has_ended = True
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            tasks.cancel_scope.cancel()

    async def _send(self, send: Send, line: bytes) -> None:
        async with self._sending:
            if not self._has_ended:
                await send({"type": "http.response.body", "body": line, "more_body": True})

    async def _send_bookmarks(self, send: Send) -> None:
        while True:
            await anyio.sleep(BETWEEN_BOOKMARKS)
            bookmark = self._watching.bookmark()
            if bookmark is not None:
                await self._send(send, _line(bookmark.type, self._shown(bookmark)))

    async def _lines(self) -> AsyncGenerator[bytes]:
        try:
            async with aclosing(self._watching.events()) as events:
                async for event in events:
                    yield _line(event.type, self._shown(event))
        except ApiError as error:
            yield _line("ERROR", failure(error)[1])

    def _shown(self, event: Event) -> dict[str, Any]:
        if not self._version:
            return event.manifest
        metadata = {"resourceVersion": event.manifest["metadata"]["resourceVersion"]}
        has_headings, self._has_headings = self._has_headings, True
        return tables.table(
            self._offered,
            [] if event.type == BOOKMARK else [event.manifest],
            datetime.now(UTC),
            version=self._version,
            included=self._included,
            metadata=metadata,
            headings=not has_headings,
        )


def _line(event: str, shown: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"type": event, "object": shown}) + b"\n"


async def _disconnected(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _ended(is_ending: anyio.Event, scope: anyio.CancelScope) -> None:
    await is_ending.wait()
    scope.cancel()
