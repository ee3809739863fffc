"""Serves the diagnostics of a running compiler or bridge, in its own process and event loop.

Why it exists: uvicorn by default takes over the process's signals and logging; here it runs within a context manager.
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
from typing import Any

import anyio
import uvicorn
from prometheus_client import CollectorRegistry

from intentc.diagnostics.access import EVERYBODY, Access, Tls
from intentc.diagnostics.app import diagnostics_app
from intentc.diagnostics.questions import Process, Reader
from intentc.listening.connections import BACKLOG, Connections, Listener, http_protocol, most_connections
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


class _Guest(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the command."""
        yield


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
        config = uvicorn.Config(
            served.app,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,
            http=http_protocol(connections),
            h11_max_incomplete_event_size=_LONGEST_HEAD,
            backlog=BACKLOG,
            timeout_graceful_shutdown=1,
            **_encryption(access.tls),
        )
        _load(config, access.tls)
        server = _Guest(config)
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


def _encryption(tls: Tls | None) -> dict[str, Any]:
    if tls is None:
        return {}
    return {
        "ssl_certfile": tls.certificate,
        "ssl_keyfile": tls.key,
        "ssl_ca_certs": tls.client_ca or None,
        "ssl_cert_reqs": ssl.CERT_REQUIRED if tls.client_ca else ssl.CERT_NONE,
    }


def _load(config: uvicorn.Config, tls: Tls | None) -> None:
    """Load the certificates, so that unusable ones raise here and not within a task."""
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(file for file in tls or () if file)
        reason = getattr(error, "strerror", None) or str(error)
        raise UnusableCertificate(
            f"the certificates of the diagnostics can't be used: {reason}; see intentc.diagnostics.tls ({files})"
        ) from None
    if config.ssl is not None:
        config.ssl.minimum_version = ssl.TLSVersion.TLSv1_2


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[Listener]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio switches Nagle's delay off only on sockets that say TCP, and accepted ones
    # take it over; without it every second small answer waits 40 ms.
    with Listener(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(BACKLOG)
        except OSError as error:
            reason = "is in use" if error.errno == errno.EADDRINUSE else str(error.strerror)
            message = f"{host}:{port} {reason}; set intentc.diagnostics.address to another one"
            raise AddressInUse(error.errno, message) from None
        yield listener
