"""Limits the connections of one listener: how many at once, and how long each may take to send or to read.

A client that opens connections and sends half a request, or half a handshake, needs no token, and could take all file
descriptors of the process. The limit is applied where connections are accepted, before TLS and HTTP. At the limit a new
connection displaces the oldest one that never sent a whole request, then the oldest idle one; connections with a
request in progress stay.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
import socket
from contextlib import suppress
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 10.0
"""Seconds from the start of a connection, or from the last answer, within which a whole request must arrive."""
READING_PATIENCE = 60.0
"""Seconds within which a client must continue to read an answer that waits for it."""
MOST = 256
"""Connections at once, if the process may open enough files."""
BACKLOG = 64
"""Connections that the kernel queues. asyncio accepts as many in one turn of the loop; more would block it."""
_LEAST = 16
_SHARE = 4
_PERIOD = 60.0
"""Seconds between two log lines of one listener."""
_NO_FILES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_LOG = logging.getLogger(__name__)
_REQUESTS = logging.getLogger(f"{__name__}.requests")
# A log line for each malformed request would let strangers fill the disk.
_REQUESTS.setLevel(logging.ERROR)


def raise_file_limit() -> None:
    """Let this process open as many files as it may: many systems allow 1,024 at first, and far more to who asks."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        # Some systems report a hard limit that they don't grant.
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def most_connections(most: int = MOST, share: int = _SHARE) -> int:
    """The limit for one listener: the process's limit of open files divided by ``share``, at most ``most``."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else max(_LEAST, min(most, soft // share))


class Connections:
    """The connections of one listener: ``most`` at once, ``patience`` in seconds. ``owner``: the listener's name in
    logs (``the diagnostics``)."""

    def __init__(self, most: int, patience: float = PATIENCE, owner: str = "the diagnostics") -> None:
        self._most = most
        self._patience = patience
        self._owner = owner
        self._open: dict[int, _Connection] = {}
        # Both in the order in which the connections began to wait.
        self._new: dict[_Connection, asyncio.TimerHandle] = {}
        self._idle: dict[_Connection, asyncio.TimerHandle] = {}
        self._displaced = 0
        self._logged = float("-inf")

    def __len__(self) -> int:
        return len(self._open)

    def taken(self, connection: _Connection) -> None:
        """Register an accepted connection. At the limit, displace a waiting one; above the limit plus a margin, close
        this one and raise ``ConnectionAbortedError``."""
        if len(self._open) >= self._most:
            self._make_room(f"{self._most} connections to {self._owner} are open, and more are not accepted")
            # Displaced connections are closed in a later turn of the loop.
            if len(self._open) >= self._most + max(_LEAST, min(BACKLOG, self._most // 4)):
                connection.close()
                raise ConnectionAbortedError
        self._open[connection.fileno()] = connection
        self.awaits(connection.fileno())

    def closed(self, file: int, connection: _Connection) -> None:
        """Note that the connection with this file descriptor was closed."""
        if self._open.get(file) is connection:
            del self._open[file]
        self._stop_waiting(connection)

    def awaits(self, file: int, patience: float | None = None) -> None:
        """Start to wait for a request over the connection with this file descriptor, unless that has begun."""
        connection = self._open.get(file)
        if connection is None or connection in self._new or connection in self._idle:
            return
        seconds = self._patience if patience is None else patience
        timer = asyncio.get_running_loop().call_later(seconds, self._drop, connection)
        (self._idle if connection.has_asked else self._new)[connection] = timer

    def asked(self, file: int) -> None:
        """Note that a whole request has arrived over the connection with this file descriptor."""
        if (connection := self._open.get(file)) is not None:
            connection.has_asked = True
            self._stop_waiting(connection)

    def short_of_files(self) -> None:
        """Close one connection, since the process can't open more files."""
        self._make_room(f"connections to {self._owner} can't be accepted: this process has no file descriptors left")

    def _stop_waiting(self, connection: _Connection) -> None:
        for waiting in (self._new, self._idle):
            if (timer := waiting.pop(connection, None)) is not None:
                timer.cancel()

    def _drop(self, connection: _Connection) -> None:
        """Shut a connection down; its transport sees the end and closes it, also during a handshake."""
        self._stop_waiting(connection)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def _make_room(self, reason: str) -> None:
        self._displaced += 1
        now = asyncio.get_running_loop().time()
        if now - self._logged >= _PERIOD:
            _LOG.warning(
                "%s; %d times since the last line about it, the oldest waiting connection, if any, was closed",
                reason,
                self._displaced,
            )
            self._logged, self._displaced = now, 0
        if waiting := self._new or self._idle:
            self._drop(next(iter(waiting)))


class Listener(socket.socket):
    """A listening socket that applies the limits of ``connections`` once ``limit`` was called."""

    _connections: Connections | None = None
    _spare = -1
    """A descriptor of /dev/null, released briefly to accept and close a connection when there is no other."""

    @classmethod
    def bound(cls, family: int, address: Any) -> Listener:
        """A listener that is bound to an address. Raises ``OSError``."""
        # The protocol is named because asyncio switches Nagle's delay off only on sockets that say TCP, and accepted
        # ones take it over; without it every second small answer waits 40 ms.
        listener = cls(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
        return listener

    def limit(self, connections: Connections) -> None:
        """Apply the limits of ``connections`` to what is accepted from now on."""
        self._connections = connections
        self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept as any socket; raises ``ConnectionAbortedError`` for a rejected connection."""
        if self._connections is None:
            return super().accept()
        try:
            accepted, address = super().accept()
        except OSError as error:
            if error.errno not in _NO_FILES:
                raise
            # asyncio would log a traceback for each waiting connection, and try again at once.
            self._connections.short_of_files()
            self._reject_one()
            raise ConnectionAbortedError from None
        connection = _Connection(self.family, self.type, self.proto, accepted.detach())
        connection.setblocking(False)
        connection.connections = self._connections
        self._connections.taken(connection)
        return connection, address

    def close(self) -> None:
        """Close as any socket."""
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1
        super().close()

    def _reject_one(self) -> None:
        if self._spare < 0:
            return
        os.close(self._spare)
        self._spare = -1
        with suppress(OSError):
            super().accept()[0].close()
        with suppress(OSError):
            self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)


class _Connection(socket.socket):
    """Reports when it is closed. ``has_asked``: a whole request has arrived over it."""

    connections: Connections | None = None
    has_asked = False

    def close(self) -> None:
        file = self.fileno()
        super().close()
        if self.connections is not None:
            self.connections.closed(file, self)


def http_protocol(connections: Connections) -> type[H11Protocol]:
    """uvicorn's protocol over the connections of a ``Listener``: h11, since httptools doesn't limit a head's length."""

    class Limited(_LimitedProtocol):
        connections_ = connections

    return Limited


class _LimitedProtocol(H11Protocol):
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

    def send_400_response(self, msg: str) -> None:
        longest = self.config.h11_max_incomplete_event_size
        super().send_400_response(
            f"{msg} It is no HTTP/1.1, or its first line and headers have more than {longest} bytes.\n"
        )

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
