"""Runs echo servers for ``intentc dev``: each answers every request with the request and the server's name.

Why it exists: a sample with a gateway needs services behind it, and a newcomer has none. The annotation
``intentc.dev/echo: HOST:PORT`` on a loaded resource of any kind requests one. No other command reads that annotation.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any, NamedTuple

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from intentc.listening.connections import BACKLOG, Connections, Listener, http_protocol, most_connections
from intentc.loading.configuration import is_loopback

from .errors import CommandError

ANNOTATION = "intentc.dev/echo"
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class Echo(NamedTuple):
    """A requested server: it answers with ``name`` at ``host``:``port``."""

    name: str
    host: str
    port: int


def wanted(resources: Iterable[Mapping[str, Any]]) -> list[Echo]:
    """The servers that annotations request, each port once; named after the resource (the last element of its
    fq_name). Raises ``CommandError`` for an invalid address, or one that is not loopback."""
    found: dict[int, Echo] = {}
    for data in resources:
        annotations = (data.get("annotations") or {}).get("key_value_pair") or ()
        for address in (pair.get("value") for pair in annotations if pair.get("key") == ANNOTATION):
            echo = _echo(str(data["fq_name"][-1]), address)
            found.setdefault(echo.port, echo)
    return list(found.values())


@asynccontextmanager
async def running_echoes(echoes: Sequence[Echo]) -> AsyncIterator[None]:
    """Serve until the block ends. Raises ``CommandError`` if an address is taken."""
    with ExitStack() as stack:
        names = {echo.port: echo.name for echo in echoes}
        listeners = [stack.enter_context(_listening(echo)) for echo in echoes]
        connections = Connections(most_connections(), owner="the echo services")
        for listener in listeners:
            listener.limit(connections)
        server = _Guest(_configuration(names, connections))
        async with anyio.create_task_group() as tasks:
            if listeners:
                sockets: list[socket.socket] = [*listeners]
                tasks.start_soon(server.serve, sockets)
            try:
                yield
            finally:
                server.should_exit = True


class _Guest(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The command handles signals."""
        yield


def _echo(name: str, address: Any) -> Echo:
    host, _, port = str(address).rpartition(":")
    host = host.strip("[]")
    if not (port.isdecimal() and 0 < int(port) < 65_536 and is_loopback(host)):
        raise CommandError(
            f"the annotation {ANNOTATION} of {name} is {address!r}; it is an address of this machine, such as "
            "127.0.0.1:18081"
        )
    return Echo(name, host, int(port))


@contextmanager
def _listening(echo: Echo) -> Iterator[Listener]:
    family = socket.AF_INET6 if ":" in echo.host else socket.AF_INET
    # The protocol is named because asyncio switches Nagle's delay off only on sockets that say TCP.
    with Listener(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((echo.host, echo.port))
            listener.listen(BACKLOG)
        except OSError as error:
            raise CommandError(
                f"can't listen on {echo.host}:{echo.port} for {echo.name}: {error.strerror}",
                next_step=f"end what listens there, or change the port: in {ANNOTATION}, and where requests are sent",
            ) from None
        yield listener


def _configuration(names: Mapping[int, str], connections: Connections) -> uvicorn.Config:
    async def answer(request: Request) -> JSONResponse:
        return JSONResponse(
            {
                "service": names[request.scope["server"][1]],
                "method": request.method,
                "path": request.url.path,
                "query": request.url.query,
                "headers": dict(sorted(request.headers.items())),
                "body_bytes": len(await request.body()),
            }
        )

    return uvicorn.Config(
        Starlette(routes=[Route("/{path:path}", answer, methods=_METHODS)]),
        lifespan="off",
        http=http_protocol(connections),
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
