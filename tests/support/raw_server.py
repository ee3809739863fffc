"""A server on loopback that answers each request with given bytes, to be hostile in ways that no framework allows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

Answer = Callable[[str], AsyncIterator[bytes] | bytes]
"""Of a request's head: what is sent, in one piece or as long as the client reads."""


def answer(body: bytes, status: int = 200, **headers: str) -> bytes:
    """A complete answer. ``headers``: with ``_`` for ``-``."""
    lines = [f"HTTP/1.1 {status} X", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def endless(piece: bytes = b"x" * 65536) -> AsyncIterator[bytes]:
    """An answer without an end."""
    yield b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"%x\r\n%b\r\n" % (len(piece), piece)


class RawServer:
    """``heads``: those of all requests; ``sent``: bytes of all answers."""

    def __init__(self, given: Answer) -> None:
        self.heads: list[str] = []
        self.sent = 0
        self.url = ""
        self.given = given
        self._open: set[asyncio.StreamWriter] = set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                lengths = [line for line in head.lower().split("\r\n") if line.startswith("content-length:")]
                await reader.readexactly(int(lengths[0].partition(":")[2]) if lengths else 0)
                self.heads.append(head)
                found = self.given(head)
                if isinstance(found, bytes):
                    await self._send(writer, found)
                    continue
                async for piece in found:
                    await self._send(writer, piece)
        self._open.discard(writer)
        writer.close()

    def cut(self) -> None:
        """Cut all connections."""
        for writer in self._open:
            writer.transport.abort()

    async def _send(self, writer: asyncio.StreamWriter, piece: bytes) -> None:
        writer.write(piece)
        self.sent += len(piece)
        await writer.drain()


@asynccontextmanager
async def raw_server(given: Answer) -> AsyncIterator[RawServer]:
    """The server, until the block is left."""
    made = RawServer(given)
    server = await asyncio.start_server(made.connected, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()
        made.cut()
