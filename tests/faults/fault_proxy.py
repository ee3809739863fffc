"""A TCP proxy that misbehaves on demand: it stands between a process and a server, and is switched while both run.

Unlike faults in the kernel, these are the same on any machine and need no privileges. It knows nothing of what it
carries. Bytes that it holds back are kept and flow on when the fault ends, as TCP would have it; bytes are
lost only with their connection.
"""

from __future__ import annotations

import asyncio
import enum
import socket
import struct
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

_PIECE = 16 * 1024
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Way(enum.Enum):
    """The direction of bytes."""

    TO_SERVER = "to server"
    TO_CLIENT = "to client"


class _Connection:
    """Two pumps between a client and the server; ``forwarded`` bytes by way."""

    def __init__(self, client: asyncio.StreamWriter) -> None:
        self.writers = [client]
        self.forwarded = dict.fromkeys(Way, 0)

    def reset(self) -> None:
        """Cut it as a crash would: both ends get RST, what is under way is lost."""
        for writer in self.writers:
            opened = writer.get_extra_info("socket")
            if opened is not None and opened.fileno() >= 0:
                with suppress(OSError):
                    opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            writer.transport.abort()


class FaultProxy:
    """Listens at ``address`` and forwards to ``target`` (both ``host:port``). All switches act at once and on
    connections that stand already; ``heal`` puts all of them back."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.address = ""
        self.connects: list[float] = []
        """When each connection was accepted (``time.monotonic``)."""
        self.delay_seconds = 0.0
        """Each piece waits so long, either way."""
        self.bytes_per_second = 0
        """Of each connection, each way; 0: as fast as it goes."""
        self._server: asyncio.Server | None = None
        self._connections: dict[_Connection, asyncio.Task[None]] = {}
        self._open = {way: asyncio.Event() for way in Way}
        for gate in self._open.values():
            gate.set()
        self._cut: dict[_Connection, int] | None = None
        self._cut_after = 0
        self._reject_then = False
        self.cut_done = asyncio.Event()
        """Set once ``cut_inside`` has cut."""

    async def start(self) -> None:
        """Listen; on the same port as before after ``reject``."""
        host, _, port = (self.address or "127.0.0.1:0").rpartition(":")
        self._server = await asyncio.start_server(self._accept, host, int(port), limit=_PIECE)
        self.address = "{}:{}".format(*self._server.sockets[0].getsockname()[:2])

    async def close(self) -> None:
        """Cut everything and listen no more."""
        await self.reject()
        tasks = list(self._connections.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def reject(self) -> None:
        """Cut what stands, and refuse new connections until ``heal``."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self.reset()
        await asyncio.sleep(0)

    def reset(self) -> None:
        """Cut what stands; whoever connects again is served."""
        for connection in self._connections:
            connection.reset()

    def blackhole(self, *ways: Way) -> None:
        """Nothing comes through on these ways any more; connections stand and can be made."""
        for way in ways:
            self._open[way].clear()

    def cut_inside(self, count: int, *, reject: bool = False) -> None:
        """Cut the first connection on which ``count`` more bytes have come from the server, right after those; then
        ``reject``, if so asked."""
        self._cut = {connection: connection.forwarded[Way.TO_CLIENT] for connection in self._connections}
        self._cut_after = count
        self._reject_then = reject
        self.cut_done.clear()

    async def heal(self) -> None:
        """No fault any more. What was held back flows on."""
        self.delay_seconds, self.bytes_per_second, self._cut = 0.0, 0, None
        for gate in self._open.values():
            gate.set()
        if self._server is None:
            await self.start()

    @property
    def states(self) -> int:
        """Connections at present."""
        return len(self._connections)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connects.append(time.monotonic())
        connection = _Connection(writer)
        task = asyncio.current_task()
        assert task is not None
        self._connections[connection] = task
        try:
            host, _, port = self.target.rpartition(":")
            to_server = await asyncio.open_connection(host, int(port), limit=_PIECE)
            connection.writers.append(to_server[1])
            pumps = [
                asyncio.ensure_future(self._pump(connection, reader, to_server[1], Way.TO_SERVER)),
                asyncio.ensure_future(self._pump(connection, to_server[0], writer, Way.TO_CLIENT)),
            ]
            try:
                await asyncio.wait(pumps)
            finally:
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
        except OSError:
            pass  # the server is away: the client is cut below
        except asyncio.CancelledError:
            pass  # ``close``: the streams' own machinery would log a cancelled handler
        finally:
            del self._connections[connection]
            connection.reset()

    async def _pump(
        self, connection: _Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Way
    ) -> None:
        with suppress(OSError):
            while piece := await reader.read(_PIECE):
                if self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                if self.bytes_per_second:
                    await asyncio.sleep(len(piece) / self.bytes_per_second)
                await self._open[way].wait()
                left = self._left(connection, way)
                writer.write(piece[:left])
                connection.forwarded[way] += len(piece[:left])
                await writer.drain()
                if left <= len(piece):
                    self._cut = None
                    await _sent(writer)
                    if self._reject_then:
                        await self.reject()
                    connection.reset()
                    self.cut_done.set()
            if writer.can_write_eof():
                writer.write_eof()
        if way is Way.TO_CLIENT or writer.transport.is_closing():
            # A server that ends a connection ends it for both.
            connection.reset()

    def _left(self, connection: _Connection, way: Way) -> int:
        """Bytes that may still go before the cut."""
        if self._cut is None or way is Way.TO_SERVER:
            return 1 << 62
        return self._cut.get(connection, 0) + self._cut_after - connection.forwarded[way]


async def _sent(writer: asyncio.StreamWriter) -> None:
    """Return when what was written is with the kernel, and had a moment to leave: RST overtakes what has not."""
    while writer.transport.get_write_buffer_size():  # noqa: ASYNC110 - a transport has no event for its empty buffer
        await asyncio.sleep(0)
    await asyncio.sleep(0.02)


@asynccontextmanager
async def fault_proxy(target: str) -> AsyncIterator[FaultProxy]:
    """A proxy before ``target``, without any fault yet."""
    proxy = FaultProxy(target)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.close()
