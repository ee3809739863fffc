"""Small HTTP and TCP servers behind Envoy, and clients before it that are quick enough to count by the thousand.

The servers know as much of HTTP/1.1 as Envoy speaks to them: one request after another on a connection, bodies by
``content-length``.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, NamedTuple

import anyio

_CONNECTIONS = 16
_END = b"\r\n\r\n"


class Seen(NamedTuple):
    """A request as a backend got it; names of headers in lower case."""

    method: str
    path: str
    headers: dict[str, str]


class Answer(NamedTuple):
    """``status``, JSON in ``body``, further headers."""

    status: int = 200
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()


Respond = Callable[[Seen], Answer]


class Backend:
    """An HTTP server: ``port``, and every request that it got in ``seen``."""

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self.seen: list[Seen] = []
        self.port = 0


class _Connection(asyncio.Protocol):
    def __init__(self, backend: Backend, open_connections: set[asyncio.Transport]) -> None:
        self._backend = backend
        self._open = open_connections
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while _END in self._received:
            head, rest = self._received.split(_END, 1)
            first, *lines = head.decode().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            length = int(headers.get("content-length", 0))
            if len(rest) < length:
                return
            self._received = rest[length:]
            method, path, _ = first.split(" ")
            seen = Seen(method, path, headers)
            self._backend.seen.append(seen)
            self._transport.write(_bytes(self._backend.respond(seen)))


def _bytes(answer: Answer) -> bytes:
    body = json.dumps(answer.body).encode()
    lines = [f"HTTP/1.1 {answer.status} X", f"content-length: {len(body)}", "content-type: application/json"]
    lines += [f"{name}: {value}" for name, value in answer.headers]
    return "\r\n".join(lines).encode() + _END + body


@asynccontextmanager
async def backend(name: str, respond: Respond | None = None) -> AsyncIterator[Backend]:
    """A server on a free port of loopback. By default it answers with what it got and its name:
    ``{"service", "method", "path", "headers"}``."""

    def echo(seen: Seen) -> Answer:
        return Answer(body={"service": name, **seen._asdict()})

    found = Backend(respond or echo)
    connections: set[asyncio.Transport] = set()
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(found, connections), "127.0.0.1", 0, backlog=1024
    )
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()
        for transport in list(connections):
            transport.abort()


def counted(name: str) -> Respond:
    """Answers with no more than ``{"service"}``: for requests that are only counted."""
    answer = Answer(body={"service": name})
    return lambda seen: answer


class _Greeter(asyncio.Protocol):
    def __init__(self, name: bytes) -> None:
        self._name = name

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._name)
        transport.close()


@asynccontextmanager
async def tcp_backend(name: str) -> AsyncIterator[int]:
    """A TCP server on a free port that says its name and closes; gives the port."""

    server = await asyncio.get_running_loop().create_server(
        lambda: _Greeter(name.encode()), "127.0.0.1", 0, backlog=1024
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


class _Client(asyncio.Protocol):
    """Sends ``request`` until ``left`` answers are there or the connection is closed: then ``ended`` is done. Each
    answer is counted in ``found``."""

    def __init__(
        self, request: bytes, left: int, found: Counter[str], ended: asyncio.Future[None], pause: float
    ) -> None:
        self.left = left
        self._request = request
        self._found = found
        self._pause = pause
        self.ended = ended
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(_END)
        if not found:
            return
        head = head.lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        if len(body) < length:
            return
        self._received = body[length:]
        status = int(head.split(b" ", 2)[1])
        self._found[json.loads(body[:length])["service"] if status == 200 else f"status {status}"] += 1
        self.left -= 1
        if not self.left or b"connection: close" in head:
            self._transport.close()
            self._end(None)
        elif self._pause:
            asyncio.get_running_loop().call_later(self._pause, self._transport.write, self._request)
        else:
            self._transport.write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc or ConnectionResetError("closed before it answered"))

    def _end(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)


async def who_answers(
    port: int, path: str, count: int, host: str = "gateway.test", *, pause: float = 0.0
) -> Counter[str]:
    """``count`` requests, several at a time, on connections that are kept as long as Envoy wants them: service (or
    ``status 503``) → how often it answered. ``pause``: seconds between an answer and the connection's next request.
    Raises ``OSError`` if a request has no answer.
    """
    found: Counter[str] = Counter()
    request = f"GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode()
    loop = asyncio.get_running_loop()

    async def ask(left: int) -> None:
        while left:
            made = partial(_Client, request, left, found, loop.create_future(), pause)
            transport, client = await loop.create_connection(made, "127.0.0.1", port)
            try:
                await client.ended
            finally:
                transport.close()
            left = client.left

    async with anyio.create_task_group() as group:
        for _ in range(_CONNECTIONS):
            group.start_soon(ask, count // _CONNECTIONS)
    return found


class _Greeted(asyncio.Protocol):
    """Reads until the other side closes: ``read`` then holds it."""

    def __init__(self, read: asyncio.Future[bytes]) -> None:
        self.read = read
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data

    def connection_lost(self, exc: Exception | None) -> None:
        if self.read.done():
            return
        if exc is None:
            self.read.set_result(self._received)
        else:
            self.read.set_exception(exc)


async def who_greets(port: int, count: int) -> Counter[str]:
    """``count`` connections, several at a time: what was read from each → how often."""
    found: Counter[str] = Counter()
    loop = asyncio.get_running_loop()

    async def connect(times: int) -> None:
        for _ in range(times):
            made = partial(_Greeted, loop.create_future())
            transport, client = await loop.create_connection(made, "127.0.0.1", port)
            try:
                found[(await client.read).decode()] += 1
            finally:
                transport.close()

    async with anyio.create_task_group() as group:
        for _ in range(_CONNECTIONS):
            group.start_soon(connect, count // _CONNECTIONS)
    return found
