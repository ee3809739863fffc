"""Serves an ASGI application on a ``Listener``, inside our own process.

Why it exists: uvicorn by default takes over the process's signals and logging, and limits neither connections nor what
a client sends. The API server and the diagnostics are served alike.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterator
from typing import NamedTuple

import anyio
import uvicorn
from starlette.types import ASGIApp

from .connections import BACKLOG, Connections, http_protocol


class Tls(NamedTuple):
    """PEM files. ``client_ca``: clients must show a certificate of one of these authorities, if it is given."""

    certificate: str
    key: str
    client_ca: str = ""


class HttpServer(uvicorn.Server):
    """Serves ``app`` to ``connections``. ``longest_head``: bytes of a request's first line and headers; ``end_within``:
    seconds that calls under way have at the end. Raises ``OSError`` for unusable certificates."""

    def __init__(
        self, app: ASGIApp, connections: Connections, *, longest_head: int, end_within: int, tls: Tls | None = None
    ) -> None:
        files = tls or Tls("", "")
        config = uvicorn.Config(
            app,
            http=http_protocol(connections),
            h11_max_incomplete_event_size=longest_head,
            backlog=BACKLOG,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ssl_certfile=files.certificate or None,
            ssl_keyfile=files.key or None,
            ssl_ca_certs=files.client_ca or None,
            ssl_cert_reqs=ssl.CERT_REQUIRED if files.client_ca else ssl.CERT_NONE,
            timeout_graceful_shutdown=end_within,
        )
        # Unusable certificates raise here, not in a task.
        config.load()
        if config.ssl is not None:
            config.ssl.minimum_version = ssl.TLSVersion.TLSv1_2
        super().__init__(config)
        self.has_started = anyio.Event()
        """Set once it listens."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.has_started.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the command."""
        yield
