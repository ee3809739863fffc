"""Serves the diagnostics from inside the compiler's own process and loop.

Why it exists: uvicorn by itself takes over the process's signals and its logging; here it is a guest that begins and
ends with a context manager. Only the application's answers are ``app``'s business.
"""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio
import uvicorn
from prometheus_client import CollectorRegistry

from intentc.configuration import is_loopback

from .app import diagnostics_app
from .observed import Browsed, Observed

_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")


class AddressInUse(OSError):
    """The diagnostics' address can't be listened on; the message names it and the key to change."""


class _Guest(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the command's business."""
        yield


@asynccontextmanager
async def running_diagnostics(
    observed: Observed,
    host: str,
    port: int,
    registry: CollectorRegistry | None = None,
    browsed: Browsed | None = None,
) -> AsyncIterator[str]:
    """Serve while the context is open; gives the URL (with the port that was found, if ``port`` is 0). ``registry`` and
    ``browsed``: as for ``diagnostics_app``.

    Raises ``AddressInUse``. On loopback only requests that name a loopback host are answered.
    """
    with _listening(host, port) as listener:
        bound = listener.getsockname()[1]
        hosts = _LOOPBACK_HOSTS if is_loopback(host) else ("*",)
        config = uvicorn.Config(
            diagnostics_app(observed, hosts, registry, browsed),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        server = _Guest(config)
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listener])
            try:
                yield f"http://{f'[{host}]' if ':' in host else host}:{bound}"
            finally:
                server.should_exit = True


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio switches Nagle's delay off only on sockets that say TCP, and accepted ones
    # take it over; without it every second small answer waits 40 ms.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen()
        except OSError as error:
            reason = "is in use" if error.errno == errno.EADDRINUSE else str(error.strerror)
            message = f"{host}:{port} {reason}; set intentc.diagnostics.address to another one"
            raise AddressInUse(error.errno, message) from None
        yield listener
