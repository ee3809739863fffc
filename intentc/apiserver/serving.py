"""Runs the API server: a socket, its HTTP server, the follower of etcd, seeds.

Why it exists: ``intentc apiserver``, ``intentc dev`` and the tests share it. They handle commands and signals.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import NamedTuple

import anyio

from intentc.listening.connections import Connections, Listener, most_connections
from intentc.listening.http_server import HttpServer, Tls
from intentc.listening.origin import own_hosts, url_host
from intentc.loading.configuration import is_loopback
from intentc.model import Schema
from intentc.watch.protocol import Store

from .api_server import DEFAULT_MAX_TXN_OPS, ApiServer
from .app import create_app
from .auth import Keystone, SharedTokens
from .authorization import Mode, Policy
from .errors import ApiError
from .kubernetes.catalog import served_schema
from .pools import DEFAULT_PERCENT
from .secrets import Secrets
from .sources import Source
from .startup import keep_sealed, write_seeds

_LOG = logging.getLogger(__name__)

_END_WITHIN_SECONDS = 5
_SWEEP_SECONDS = 15
_MOST_CONNECTIONS = 1024
_SHARE_OF_FILES = 2
_PATIENCE = 30.0
"""Seconds within which a whole request must arrive; its body may have 4 MiB."""
_LONGEST_HEAD = 128 * 1024
"""Bytes of a request's first line and headers; a list may be asked for by some thousand uuids."""


class Running(NamedTuple):
    """A server that answers at ``url`` (without slash at its end), and the same in process."""

    url: str
    server: ApiServer


class AddressTaken(OSError):
    """Nothing can listen at the address. The message says why and what to do."""


@asynccontextmanager
async def running_api_server(
    store: Store,
    schema: Schema,
    *,
    path: str = "contrail",
    host: str = "127.0.0.1",
    port: int = 0,
    hosts: Sequence[str] = (),
    max_txn_ops: int = DEFAULT_MAX_TXN_OPS,
    keystone: Keystone | None = None,
    policy: Policy | None = None,
    tls: Tls | None = None,
    source: Source | None = None,
    pool_share: float = DEFAULT_PERCENT,
    metrics_token: Callable[[], str] = str,
    secret_keys: Callable[[], str] = str,
    seeds: bool = True,
) -> AsyncIterator[Running]:
    """Serve on ``host``:``port`` (0: a free one) until the block ends; calls under way may end, watches end at once.

    ``keystone``: None is ``no_auth``. ``policy``: who may do what; by default only the role ``admin`` may do anything
    if there is ``keystone``. ``pool_share``: as of an ``ApiServer``;
    ``secret_keys``: as of ``Secrets``; ``metrics_token``: as of ``create_app``. Raises ``AddressTaken``, ``OSError``
    for unusable certificates, and subclasses of ``ApiError`` if etcd does not answer or the seeds can't be written. It
    serves once everything in etcd that others wrote is indexed.

    The limits of ``listening.connections`` and the checks of ``listening.origin`` apply: on loopback ``Host`` must name
    this server, or be one of ``hosts``.
    """
    if policy is None:
        policy = Policy() if keystone is None else Policy(Mode.CLOUD_ADMIN)
    schema = served_schema(schema)
    server = ApiServer(
        store,
        schema,
        path=path,
        max_txn_ops=max_txn_ops,
        source=source,
        policy=policy,
        pool_share=pool_share,
        secrets=Secrets(secret_keys),
    )
    listener = _listen(host, port)
    most = most_connections(_MOST_CONNECTIONS, _SHARE_OF_FILES)
    connections = Connections(most, _PATIENCE, "the API server")
    listener.limit(connections)
    try:
        app = create_app(
            server,
            keystone,
            own_hosts(host, hosts, is_loopback=is_loopback(host)),
            metrics_token,
            # Each takes a connection to etcd as well; the other connections stay for calls that end.
            most_watches=most // 2,
        )
        http = HttpServer(app, connections, longest_head=_LONGEST_HEAD, end_within=_END_WITHIN_SECONDS, tls=tls)
        scheme = "https" if tls is not None else "http"
        bound_host, bound_port = listener.getsockname()[:2]
        failure: Exception | None = None
        following, sharing, sealing = anyio.CancelScope(), anyio.CancelScope(), anyio.CancelScope()
        async with anyio.create_task_group() as tasks:
            try:
                # Before anybody can ask for a name, and before the seeds take theirs.
                await server.follower.ask()
                tasks.start_soon(_until_cancelled, following, server.follower.run)
                await server.follower.indexed()
                if keystone is not None:
                    tokens = SharedTokens(store, path, keystone)
                    tasks.start_soon(_until_cancelled, sharing, tokens.run)
                    await tokens.listed()
                    keystone.registry = tokens
                if seeds:
                    await write_seeds(server)
                sockets: list[socket.socket] = [listener]
                tasks.start_soon(http.serve, sockets)
                await http.has_started.wait()
                tasks.start_soon(_sweep, server)
                tasks.start_soon(_until_cancelled, sealing, partial(keep_sealed, server))
                yield Running(f"{scheme}://{url_host(bound_host)}:{bound_port}", server)
            except Exception as error:  # raised below, so that the caller gets it unwrapped, not in an exception group
                failure = error
            finally:
                following.cancel()
                sharing.cancel()
                server.is_ending.set()
                http.should_exit = True
                sealing.cancel()
        if failure is not None:
            raise failure
    finally:
        listener.close()


async def _until_cancelled(scope: anyio.CancelScope, work: Callable[[], Awaitable[None]]) -> None:
    with scope:
        await work()


async def _sweep(server: ApiServer) -> None:
    """Finish the deletions that were left unfinished, until the server ends."""
    while not server.is_ending.is_set():
        with anyio.move_on_after(_SWEEP_SECONDS):
            await server.is_ending.wait()
            return
        try:
            await server.sweep()
        except ApiError as error:
            _LOG.info("references to deleted resources are left for now: %s", error.message)


def _listen(host: str, port: int) -> Listener:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return Listener.bound(family, address)
    except OSError as error:
        raise AddressTaken(
            error.errno, f"can't listen on {host}:{port}: {error.strerror or error}; choose another server.address"
        ) from error
