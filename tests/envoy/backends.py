"""What stands behind and before Envoy in live tests: small HTTP and TCP servers, and clients quick enough to count by
the thousand.

The servers know as much of HTTP/1.1 as Envoy speaks to them: one request after another on a connection, bodies by
``content-length``.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
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


@asynccontextmanager
async def tcp_backend(name: str) -> AsyncIterator[int]:
    """A TCP server on a free port that says its name and closes; gives the port."""

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(name.encode())
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(greet, "127.0.0.1", 0, backlog=1024)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def who_answers(port: int, path: str, count: int, host: str = "gateway.test") -> Counter[str]:
    """``count`` requests, several at a time, on connections that are kept as long as Envoy wants them: service (or
    ``status 503``) → how often it answered."""
    found: Counter[str] = Counter()
    request = f"GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode()

    async def ask(times: int) -> None:
        while times:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            closing = False
            try:
                while times and not closing:
                    writer.write(request)
                    times -= 1
                    head = (await reader.readuntil(_END)).decode().lower()
                    length = int(head.partition("content-length:")[2].split("\r\n")[0] or 0)
                    body = await reader.readexactly(length)
                    status = int(head.split(" ")[1])
                    found[json.loads(body)["service"] if status == 200 else f"status {status}"] += 1
                    closing = "connection: close" in head
            finally:
                writer.close()

    async with anyio.create_task_group() as group:
        for _ in range(_CONNECTIONS):
            group.start_soon(ask, count // _CONNECTIONS)
    return found


async def who_greets(port: int, count: int) -> Counter[str]:
    """``count`` connections, several at a time: what was read from each → how often."""
    found: Counter[str] = Counter()

    async def connect(times: int) -> None:
        for _ in range(times):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            found[(await reader.read()).decode()] += 1
            writer.close()

    async with anyio.create_task_group() as group:
        for _ in range(_CONNECTIONS):
            group.start_soon(connect, count // _CONNECTIONS)
    return found
