"""Serves ``/events``: new lines of the journal and a short status, as server-sent events.

Why it exists: a stream costs less than a page that polls. Followers are bounded, since each costs a task and a buffer;
one that does not read is disconnected and may return with ``Last-Event-ID``. ``Reader.follow`` yields the lines.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, cast

import anyio
import msgspec
from anyio.abc import TaskGroup
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from intentc.diagnostics.json_answers import json_answer, rejection
from intentc.diagnostics.questions import (
    NEWEST,
    BadQuery,
    JournalQuery,
    Process,
    Reader,
    Unanswerable,
    choice,
    number,
    only,
)

EVENTS = {"/events": "new lines of the journal and a short status (server-sent events): /events?after=N"}

MOST_FOLLOWERS = 32
MOST_BACK = 1_000
"""Most lines that a returning follower gets again; older ones are in ``/journal``."""
STATUS_PERIOD = 1.0
_HEARTBEAT = 5.0
"""Seconds between events that are sent even if nothing changed, so that dead connections and processes are noticed: a
page that receives nothing for longer (``live.js``) says so."""
_ALIVE = b"event: alive\ndata: {}\n\n"
_GATHERED = 0.1
"""Seconds for which lines are gathered into one send; with ``_MOST_AT_ONCE`` this bounds the cost of a follower."""
_MOST_AT_ONCE = 200
_PATIENCE = 30.0
"""Seconds for which a follower may read nothing."""

LISTS = frozenset({"held", "waiting", "rejected", "delayed", "withheld_deletes", "quarantine", "planned", "problems"})
"""Keys of the status that the short one omits: its ``counts`` have their sizes."""
_MOST_PENDING = 20


def short_status(status: Mapping[str, Any], ready: tuple[bool, tuple[str, ...]]) -> dict[str, Any]:
    """Return the status without its lists, a few kilobytes in any world, with ``ready`` and ``not_ready`` [text]."""
    short = {key: value for key, value in status.items() if key not in LISTS}
    if "counters" in short:
        short["counters"] = {name: value for name, value in short["counters"].items() if isinstance(value, int)}
    if isinstance(pending_work := short.get("pending_work"), list | tuple):
        short["pending_work"] = list(pending_work[:_MOST_PENDING])
    return {**short, "ready": ready[0], "not_ready": list(ready[1])}


class Events:
    """Serves the followers of one process until ``end``."""

    def __init__(self, process: Process, reader: Reader | None) -> None:
        self._process = process
        self._reader = reader
        self._streams: set[anyio.CancelScope] = set()
        self._ended = False
        self._status: tuple[float, bytes] = (float("-inf"), b"")

    def __len__(self) -> int:
        return len(self._streams)

    def end(self) -> None:
        """Close every stream, and reject new ones."""
        self._ended = True
        for scope in list(self._streams):
            scope.cancel()

    async def answer(self, request: Request) -> Response:
        """Answer with a stream; 400 for wrong parameters, 503 if there are too many followers. ``only=status`` or
        ``only=line`` omits the other."""
        try:
            only(request.query_params, "after", "only")
            wanted = choice(request.query_params, "only", ("status", "line"))
            after = await self._after(request)
        except BadQuery as error:
            return rejection(request, Unanswerable(400, str(error), "`/` lists the paths and their parameters"))
        if self._ended or len(self._streams) >= MOST_FOLLOWERS:
            reason = "the process is ending" if self._ended else f"the limit of {MOST_FOLLOWERS} followers is reached"
            response = json_answer(request, {"error": reason, "next_step": "close a page, or try again later"}, 503)
            response.headers["Retry-After"] = "5"
            return response
        return _Stream(self, wanted, after)

    async def _after(self, request: Request) -> int | None:
        """Return the sequence after which lines are requested; None without lines to follow."""
        if self._reader is None:
            return None
        given = dict(request.query_params)
        # A returning browser sends its last sequence in this header; its address is still that of the first visit.
        if last := request.headers.get("last-event-id", ""):
            given["after"] = last
        kept = await self._reader.ask(JournalQuery(limit=1))
        newest = int(kept["last"])
        after = number(given, "after", newest, 0, NEWEST)
        # Sequences begin anew with each process: a larger one comes from a former process.
        return max(0 if after > newest else after, newest - MOST_BACK)

    def status_now(self) -> bytes:
        """Return the short status, computed at most once a second for all followers together."""
        now = anyio.current_time()
        if now - self._status[0] >= STATUS_PERIOD * 0.9:
            short = short_status(self._process.status(), self._process.ready())
            self._status = (now, msgspec.json.encode(short))
        return self._status[1]

    async def stream(self, send: Callable[[bytes], Any], wanted: str, after: int | None) -> None:
        """Send events to one follower, until cancelled."""
        outgoing = _Outgoing(send)
        async with anyio.create_task_group() as group:
            group.start_soon(outgoing.run, group)
            if wanted != "line":
                group.start_soon(self._send_status, outgoing)
            if wanted != "status" and self._reader is not None and after is not None:
                group.start_soon(self._send_lines, outgoing, self._reader, after)

    async def _send_status(self, outgoing: _Outgoing) -> None:
        sent = b""
        while True:
            now = self.status_now()
            if now != sent:
                sent = now
                await outgoing.put(_event("status", now))
            await anyio.sleep(STATUS_PERIOD)

    async def _send_lines(self, outgoing: _Outgoing, reader: Reader, after: int) -> None:
        try:
            async with aclosing(cast("AsyncGenerator[dict[str, Any]]", reader.follow(after))) as lines:
                async for line in lines:
                    await outgoing.put(_event("line", msgspec.json.encode(line), line.get("sequence")))
        except Unanswerable as error:
            # The answer has begun, so its status code can't report the error.
            content = {"error": error.error, "next_step": error.next_step}
            await outgoing.put(_event("unanswerable", msgspec.json.encode(content)))

    async def run(self, receive: Receive, send: Callable[[bytes], Any], wanted: str, after: int | None) -> None:
        """Run ``stream`` until the follower disconnects or ``end`` is called."""
        with anyio.CancelScope() as scope:
            self._streams.add(scope)
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(_cancel_on_disconnect, receive, group)
                    await self.stream(send, wanted, after)
                    group.cancel_scope.cancel()
            finally:
                self._streams.discard(scope)


class _Stream(Response):
    """An answer without an end; either side may close it."""

    media_type = "text/event-stream"

    def __init__(self, events: Events, wanted: str, after: int | None) -> None:
        # ``X-Accel-Buffering``: a proxy must not buffer events.
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events = events
        self._wanted = wanted
        self._after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return

        async def send_part(content: bytes) -> None:
            await send({"type": "http.response.body", "body": content, "more_body": True})

        await self._events.run(receive, send_part, self._wanted, self._after)
        with anyio.move_on_after(1.0):
            await send({"type": "http.response.body", "body": b""})


class _Outgoing:
    """Gathers the events for one follower, so that a storm of lines takes a few sends."""

    def __init__(self, send: Callable[[bytes], Any]) -> None:
        self._send = send
        self._waiting: list[bytes] = [b"retry: 2000\n\n"]
        self._some = anyio.Event()
        self._room = anyio.Event()
        self._some.set()

    async def put(self, content: bytes) -> None:
        """Wait until there is room: a slow follower misses lines at the journal and does not fill our memory."""
        while len(self._waiting) >= _MOST_AT_ONCE:
            await self._room.wait()
        self._waiting.append(content)
        self._some.set()

    async def run(self, group: TaskGroup) -> None:
        while True:
            with anyio.move_on_after(_HEARTBEAT):
                await self._some.wait()
            content = b"".join(self._waiting) or _ALIVE
            self._waiting.clear()
            self._some, room, self._room = anyio.Event(), self._room, anyio.Event()
            room.set()
            with anyio.move_on_after(_PATIENCE) as patience:
                await self._send(content)
            if patience.cancelled_caught:
                group.cancel_scope.cancel()
            await anyio.sleep(_GATHERED)


def _event(name: str, data: bytes, sequence: object = None) -> bytes:
    """Encode an event. JSON contains no line ends, so one ``data`` line is enough."""
    identity = b"id: %d\n" % sequence if isinstance(sequence, int) else b""
    return b"%sevent: %s\ndata: %s\n\n" % (identity, name.encode(), data)


async def _cancel_on_disconnect(receive: Receive, group: TaskGroup) -> None:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            group.cancel_scope.cancel()
            return
