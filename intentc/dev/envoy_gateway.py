"""Starts an xDS server and an Envoy for ``intentc dev``, where the compilers make Envoy elements.

Why it exists: a user who loads a gateway wants to send requests through it, and to see which commands do that.
``bridges.xds`` decides whether a compiler's kinds need an Envoy; ``echo_services`` runs the services behind it.
"""

from __future__ import annotations

import http.client
import shlex
import socket
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

import anyio
import anyio.to_thread
import click

from intentc.cli.command_error import CommandError, Exit, needing_protobuf
from intentc.watch.etcd import EtcdStore

from .envoy_server import Envoy, running_envoy
from .example_requests import Port, Request

if TYPE_CHECKING:
    from intentc.bridges.xds.serving import Server


_POLL_SECONDS = 0.01
_ACCEPTED_WITHIN_SECONDS = 30.0
_ANSWER_WITHIN_SECONDS = 10.0
_MOST_REQUESTS = 8


class Gateway(NamedTuple):
    """A running Envoy and its xDS server."""

    xds: Server
    envoy: Envoy

    async def accepted(self, revision: int) -> None:
        """Wait until Envoy has answered everything that follows from the store up to ``revision``. Raises
        ``CommandError`` after 30 s."""
        cache = self.xds.cache
        with anyio.move_on_after(_ACCEPTED_WITHIN_SECONDS):
            # Envoy's answers set no event here.
            while not (  # noqa: ASYNC110
                cache.published >= revision
                and cache.streams
                and all(stream.serial >= cache.serial for stream in cache.streams)
            ):
                await anyio.sleep(_POLL_SECONDS)
            return
        raise CommandError(
            f"Envoy has not accepted its configuration within {_ACCEPTED_WITHIN_SECONDS:g} s; it printed:\n"
            f"{self.envoy.log_tail()}",
            code=Exit.UNREACHABLE,
        )


@asynccontextmanager
async def running_gateway(
    etcd: str, path: str, listening: Iterable[Port] = (), *, drain_seconds: float = 600.0
) -> AsyncIterator[Gateway]:
    """Run an xDS server over the etcd at ``etcd`` (its elements below ``/<path>/``) and an Envoy that uses it.

    ``listening``: the ports of the elements' listeners. ``drain_seconds``: the drain time of both.
    Raises ``CommandError`` if such a port is taken, and ``EnvoyNotStarted``.
    """
    with needing_protobuf():
        from intentc.bridges.xds.bootstrap import Address, bootstrap
        from intentc.bridges.xds.serving import running_xds
    for port in listening:
        _check_free(port)
    store = EtcdStore([etcd])
    try:
        async with (
            running_xds(store, path, drain_seconds=drain_seconds) as xds,
            running_envoy(bootstrap(Address("127.0.0.1", xds.port)), drain_seconds=drain_seconds) as envoy,
        ):
            yield Gateway(xds, envoy)
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


def introduce(gateway: Gateway, requests: Sequence[Request], files: Sequence[str]) -> None:
    """Print where Envoy is and which commands to type. ``files``: what was loaded."""
    click.echo(f"\nxDS server   127.0.0.1:{gateway.xds.port}", err=True)
    click.echo(f"Envoy        http://{gateway.envoy.admin}/  (its own pages)", err=True)
    for rejected in gateway.xds.status()["rejected"]:
        click.echo(f"rejected     {rejected['kind']} {rejected['name']}: {rejected['message']}", err=True)
    if not requests:
        click.echo("             it answers no request yet", err=True)
        return
    click.echo("\nIt answers, for example:", err=True)
    for request in requests[:_MOST_REQUESTS]:
        click.echo(f"  {request.curl}", err=True)
    if len(requests) > _MOST_REQUESTS:
        click.echo(f"  … and {len(requests) - _MOST_REQUESTS} more", err=True)
    if files:
        click.echo("\nChange something (a weight, say), and Envoy follows at once:", err=True)
        click.echo(f"  intentc apply --wait {shlex.join(files)}", err=True)


async def prove(requests: Iterable[Request]) -> None:
    """Send the first request that needs no TLS, and print the answer."""
    for request in requests:
        if request.scheme == "http":
            click.echo(f"$ {request.curl}")
            click.echo(await anyio.to_thread.run_sync(_answer, request))
            return


def _answer(request: Request) -> str:
    connection = http.client.HTTPConnection(request.address, request.port, timeout=_ANSWER_WITHIN_SECONDS)
    try:
        headers = dict(request.headers) | ({"Host": request.host} if request.host else {})
        connection.request(request.method, request.path, headers=headers)
        answer = connection.getresponse()
        return f"{answer.status} {answer.reason}\n{answer.read().decode(errors='replace')}"
    except (OSError, http.client.HTTPException) as error:
        return f"no answer: {error}"
    finally:
        connection.close()


def _check_free(port: Port) -> None:
    """Raise ``CommandError`` if a port is taken: Envoy would share it with another Envoy, and each would get some
    requests."""
    family = socket.AF_INET6 if ":" in port.address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((port.address, port.port))
        except OSError as error:
            raise CommandError(
                f"Envoy can't listen on port {port.port}: {error.strerror}",
                where=f"the listener {port.name}",
                next_step="end what listens there, or give the listener another port in your file",
            ) from None
