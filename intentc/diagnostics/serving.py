"""Serves the diagnostics of a running compiler or bridge, in its own process and event loop.

It listens for other machines only if clients must authenticate. ``app`` builds the application.

State and I/O: the socket and the server's task, until the block is left; it reads the certificates.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

import anyio
from prometheus_client import CollectorRegistry
from starlette.types import ASGIApp

from intentc.diagnostics.access import EVERYBODY, Access
from intentc.diagnostics.app import diagnostics_app
from intentc.diagnostics.questions import Process, Reader
from intentc.listening.connections import BACKLOG, Connections, Listener, most_connections
from intentc.listening.http_server import HttpServer, Tls
from intentc.listening.origin import own_hosts, url_host
from intentc.loading.configuration import is_loopback

_LONGEST_HEAD = 64 * 1024
"""Most bytes of a request's first line and headers; a name in an address may be long."""


class AddressInUse(OSError):
    """The diagnostics' address can't be listened on; the message names it and the key to change."""


class OpenToAll(OSError):
    """The diagnostics would be open to everybody; the message says what to set."""


class UnusableCertificate(OSError):
    """The certificate, its key or the clients' authorities can't be used; the message names files and keys."""


@asynccontextmanager
async def running_diagnostics(
    process: Process,
    host: str,
    port: int,
    registry: CollectorRegistry | None = None,
    reader: Reader | None = None,
    access: Access = EVERYBODY,
    hosts: Sequence[str] = (),
) -> AsyncIterator[str]:
    """Serve while the context is open, and yield the URL (with a free port if ``port`` is 0). ``registry``,
    ``reader`` and ``access``: as for ``diagnostics_app``.

    Raises ``AddressInUse``, ``UnusableCertificate``, and ``OpenToAll`` if ``host`` is no loopback address and
    ``access`` authenticates nobody. On loopback, ``Host`` must be a loopback host, ``host`` itself or one of ``hosts``.
    ``listening.connections.most_connections`` limits the open connections.
    """
    if not is_loopback(host) and not access.asks:
        raise OpenToAll(
            f"{host}:{port} can be reached from other machines without authentication; set"
            " intentc.diagnostics.token_file or intentc.diagnostics.tls.client_ca, or listen on 127.0.0.1"
        )
    with _listening(host, port) as listener:
        bound = listener.getsockname()[1]
        allowed_hosts = own_hosts(host, hosts, is_loopback=is_loopback(host))
        connections = Connections(most_connections())
        listener.limit(connections)
        served = diagnostics_app(process, allowed_hosts, registry, reader, access)
        server = _server(served.app, connections, access.tls)
        async with anyio.create_task_group() as group:
            sockets: list[socket.socket] = [listener]
            group.start_soon(server.serve, sockets)
            try:
                scheme = "http" if access.tls is None else "https"
                yield f"{scheme}://{url_host(host)}:{bound}"
            finally:
                # Event streams have no end, and the server would wait for them.
                served.events.end()
                server.should_exit = True


def _server(app: ASGIApp, connections: Connections, tls: Tls | None) -> HttpServer:
    """The HTTP server. Raises ``UnusableCertificate``."""
    try:
        return HttpServer(app, connections, longest_head=_LONGEST_HEAD, end_within=1, tls=tls)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(file for file in tls or () if file)
        reason = getattr(error, "strerror", None) or str(error)
        raise UnusableCertificate(
            f"the certificates of the diagnostics can't be used: {reason}; see intentc.diagnostics.tls ({files})"
        ) from None


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[Listener]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = Listener.bound(family, (host, port))
    except OSError as error:
        raise _in_use(error, host, port) from None
    with listener:
        try:
            listener.listen(BACKLOG)
        except OSError as error:
            raise _in_use(error, host, port) from None
        yield listener


def _in_use(error: OSError, host: str, port: int) -> AddressInUse:
    reason = "is in use" if error.errno == errno.EADDRINUSE else str(error.strerror)
    return AddressInUse(error.errno, f"{host}:{port} {reason}; set intentc.diagnostics.address to another one")
