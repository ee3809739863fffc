"""The connections of the diagnostics: so many at once, and none that keeps its place without a request.

Why it exists: diagnostics are a guest in the compiler's process. Whoever opens connections and sends half a request,
or half a handshake, needs no token for that, and would leave the compiler without file descriptors for etcd and the API
server. The bound is kept where connections are accepted, before TLS and HTTP. One whose request has come stays, so
followers do; of the others the oldest goes first, so that who asks at once is answered even while the rest is taken.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from contextlib import suppress
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 10.0
"""Seconds from the beginning of a connection, or from the last answer, until a whole request is there."""
READING_PATIENCE = 60.0
"""Seconds that a client has for taking what was sent, before it gets on with it."""
MOST = 256
"""Connections at once, where the process may have files enough."""
_LEAST = 16
_PERIOD = 60.0
"""Seconds between two lines of the log."""
_LOG = logging.getLogger(__name__)
_REQUESTS = logging.getLogger(f"{__name__}.requests")
# What strangers send is theirs: a line for each of their mistakes would be a way to fill a disk.
_REQUESTS.setLevel(logging.ERROR)


def most_connections() -> int:
    """A quarter of the files that this process may have open, and never more than ``MOST``."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if soft == resource.RLIM_INFINITY else max(_LEAST, min(MOST, soft // 4))


class Connections:
    """Those of one listener: ``most`` at once, ``patience`` in seconds."""

    def __init__(self, most: int, patience: float = PATIENCE) -> None:
        self._most = most
        self._patience = patience
        self._open: dict[int, _Connection] = {}
        # In the order in which they began to wait.
        self._without_request: dict[_Connection, asyncio.TimerHandle] = {}
        self._crowded_out = 0
        self._told = float("-inf")

    def __len__(self) -> int:
        return len(self._open)

    def taken(self, connection: _Connection) -> None:
        """A connection was accepted. Raises ``ConnectionAbortedError``, with it closed, if there is no place."""
        if len(self._open) >= self._most:
            self._make_room()
            if len(self._open) >= self._most + _LEAST:
                connection.close()
                raise ConnectionAbortedError
        self._open[connection.fileno()] = connection
        self.awaits(connection.fileno())

    def closed(self, file: int, connection: _Connection) -> None:
        if self._open.get(file) is connection:
            del self._open[file]
        self._asked(connection)

    def awaits(self, file: int, patience: float | None = None) -> None:
        """A request is expected over the connection with this file descriptor, from now on if it was not before."""
        connection = self._open.get(file)
        if connection is not None and connection not in self._without_request:
            seconds = self._patience if patience is None else patience
            timer = asyncio.get_running_loop().call_later(seconds, self._drop, connection)
            self._without_request[connection] = timer

    def asked(self, file: int) -> None:
        """Its request has come whole."""
        if (connection := self._open.get(file)) is not None:
            self._asked(connection)

    def _asked(self, connection: _Connection) -> None:
        if (timer := self._without_request.pop(connection, None)) is not None:
            timer.cancel()

    def _drop(self, connection: _Connection) -> None:
        """Its transport finds the end, and closes it, whether in a handshake or behind one."""
        self._asked(connection)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def _make_room(self) -> None:
        self._crowded_out += 1
        now = asyncio.get_running_loop().time()
        if now - self._told >= _PERIOD:
            _LOG.warning(
                "there are as many connections to the diagnostics as are taken (%d); %d more came since the last such"
                " line, and those that had sent no whole request were closed for them",
                self._most,
                self._crowded_out,
            )
            self._told, self._crowded_out = now, 0
        if self._without_request:
            self._drop(next(iter(self._without_request)))


class Listener(socket.socket):
    """A listening socket whose connections are counted once ``connections`` is set."""

    connections: Connections | None = None

    def accept(self) -> tuple[socket.socket, Any]:
        """As of any socket; ``ConnectionAbortedError`` for one more than are taken."""
        accepted, address = super().accept()
        if self.connections is None:
            return accepted, address
        connection = _Connection(self.family, self.type, self.proto, accepted.detach())
        connection.setblocking(False)
        connection.connections = self.connections
        self.connections.taken(connection)
        return connection, address


class _Connection(socket.socket):
    """Tells when it is closed."""

    connections: Connections | None = None

    def close(self) -> None:
        file = self.fileno()
        super().close()
        if self.connections is not None:
            self.connections.closed(file, self)


def protocol_over(connections: Connections) -> type[H11Protocol]:
    """HTTP over the connections of a ``Listener``. h11 and not what is quicker: it bounds how long a head may be."""

    class Counted(_Patient):
        connections_ = connections

    return Counted


class _Patient(H11Protocol):
    connections_: ClassVar[Connections]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = _REQUESTS
        self._file = -1
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._file = transport.get_extra_info("socket").fileno()

    def connection_lost(self, exc: Exception | None) -> None:
        self._read()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(READING_PATIENCE, self.transport.abort)

    def resume_writing(self) -> None:
        self._read()
        super().resume_writing()

    def _read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        if self.conn.their_state in (h11.DONE, h11.MUST_CLOSE):
            self.connections_.asked(self._file)
        else:
            unread = self.transport.get_write_buffer_size()
            self.connections_.awaits(self._file, READING_PATIENCE if unread else None)
