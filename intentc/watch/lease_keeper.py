"""Renews the leader's lease in a real etcd from its own thread, over its own connection.

A loop that is busy for some seconds (a big list, a slow evaluation) must not cost the leadership, and neither must a
connection whose window is full of watch events. This is a ``LeaseKeeper`` of ``leading``.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import anyio
import anyio.to_thread
import grpc

from intentc.watch import rpc_pb2 as rpc
from intentc.watch.etcd_connections import Endpoint, Tls, open_blocking_channel, parse_endpoint
from intentc.watch.etcd_messages import is_stale_token, is_without_authentication, store_error

_LOG = logging.getLogger(__name__)
_RENEWALS_IN_A_TTL = 3
_RETRIES_IN_A_TTL = 20
_END_WITHIN_SECONDS = 5.0


class EtcdLeaseKeepers:
    """Makes keepers for leases of one etcd cluster; a ``leading.KeeperFactory``. Arguments as for ``EtcdStore``, but
    ``password`` is called from the keepers' threads."""

    def __init__(
        self, endpoints: Sequence[str], *, username: str = "", password: Callable[[], str] = str, tls: Tls | None = None
    ) -> None:
        self._endpoints = tuple(parse_endpoint(text, tls) for text in endpoints)
        self._username = username
        self._password = password
        self._tls = tls

    def __call__(self, lease: int, ttl: int, held_until: float) -> EtcdLeaseKeeper:
        """The keeper of one lease, already held until ``held_until`` (monotonic); not yet running."""
        connection = _Connection(self._endpoints, self._tls, self._username, self._password)
        return EtcdLeaseKeeper(connection, lease, ttl, held_until)


class EtcdLeaseKeeper:
    """Keeps one lease; made by ``EtcdLeaseKeepers``, and run once."""

    def __init__(self, connection: _Connection, lease: int, ttl: int, held_until: float) -> None:
        self._connection = connection
        self._lease = lease
        self._ttl = ttl
        # One reference, replaced whole by the thread: reading it from another needs no lock.
        self._held_until = held_until
        self._stop = threading.Event()

    def held_until(self) -> float:
        """See ``leading.LeaseKeeper.held_until``; by ``time.monotonic``."""
        return self._held_until

    async def run(self) -> None:
        """Renew until cancelled; returns once etcd reports that the lease is lost."""
        loop, lost = asyncio.get_running_loop(), asyncio.Event()

        def notify() -> None:
            with suppress(RuntimeError):  # the loop is closed: nothing waits for it any more
                loop.call_soon_threadsafe(lost.set)

        thread = threading.Thread(target=self._keep, args=(notify,), name="lease", daemon=True)
        thread.start()
        try:
            await lost.wait()
        finally:
            self._stop.set()
            self._connection.close()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(thread.join, _END_WITHIN_SECONDS)

    def _keep(self, notify: Callable[[], None]) -> None:
        failing = False
        try:
            while not self._stop.is_set():
                sent = time.monotonic()
                pause = self._ttl / _RENEWALS_IN_A_TTL
                try:
                    left = self._connection.renew(self._lease, timeout=pause)
                except _NotRenewed as error:
                    if not (failing or self._stop.is_set()):
                        _LOG.warning("the leader's lease can't be renewed: %s", error)
                    failing = True
                    self._stop.wait(self._ttl / _RETRIES_IN_A_TTL)
                    continue
                if left == 0:
                    self._held_until = -math.inf
                    return
                self._held_until = max(self._held_until, sent + left)
                if failing:
                    _LOG.info("the leader's lease is renewed again")
                failing = False
                self._stop.wait(max(0.0, sent + pause - time.monotonic()))
        finally:
            self._connection.close()
            notify()


class _NotRenewed(Exception):
    """This attempt failed; the message says at which member, and why."""


class _Connection:
    """The thread's own connection, to one member at a time: after a failure it is opened anew, to the next member, and
    TLS files are read again."""

    def __init__(
        self, endpoints: tuple[Endpoint, ...], tls: Tls | None, username: str, password: Callable[[], str]
    ) -> None:
        self._endpoints = endpoints
        self._tls = tls
        self._username = username
        self._password = password
        self._token: str | None = None
        self._current = 0
        self._lock = threading.Lock()
        self._channel: grpc.Channel | None = None
        self._closed = False

    def renew(self, lease: int, timeout: float) -> int:
        """Renew once, with ``timeout`` for each of its calls; return the lease's seconds, 0 if it is lost. Raises
        ``_NotRenewed``."""
        address = self._endpoints[self._current].address
        try:
            channel = self._open()
            try:
                return self._renew(channel, lease, timeout)
            except grpc.RpcError as error:
                if not (self._username and is_stale_token(error)):
                    raise
                self._token = None
                return self._renew(channel, lease, timeout)
        except grpc.RpcError as error:
            self._leave()
            raise _NotRenewed(
                f"{store_error('LeaseKeepAlive', error.details() or '', error.code())} ({address})"
            ) from None
        except OSError as error:
            self._leave()
            raise _NotRenewed(f"etcd TLS file can't be read: {error}; check etcd.tls.*") from None
        except ValueError as error:  # what gRPC raises if the channel is closed during the call
            raise _NotRenewed(f"{error} ({address})") from None

    def close(self) -> None:
        """Close it for good, and a call under way with it; from any thread, repeatedly if needed."""
        with self._lock:
            self._closed = True
        self._drop()

    def _renew(self, channel: grpc.Channel, lease: int, timeout: float) -> int:
        # On the wire a stream with one request and one answer looks like a plain call, which needs no threads.
        answer = self._call(
            channel,
            "/etcdserverpb.Lease/LeaseKeepAlive",
            rpc.LeaseKeepAliveRequest(ID=lease),
            rpc.LeaseKeepAliveResponse,
            timeout,
            # A member without a leader rejects the request, instead of keeping it silently.
            (*self._metadata(channel, timeout), ("hasleader", "true")),
        )
        return int(answer.TTL)

    def _metadata(self, channel: grpc.Channel, timeout: float) -> tuple[tuple[str, str], ...]:
        if not self._username:
            return ()
        if self._token is None:
            request = rpc.AuthenticateRequest(name=self._username, password=self._password())
            try:
                answer = self._call(
                    channel, "/etcdserverpb.Auth/Authenticate", request, rpc.AuthenticateResponse, timeout, ()
                )
                self._token = str(answer.token)
            except grpc.RpcError as error:
                if not is_without_authentication(error):
                    raise
                self._token = ""
        return (("token", self._token),) if self._token else ()

    @staticmethod
    def _call(
        channel: grpc.Channel, path: str, request: Any, response: Any, timeout: float, metadata: tuple[Any, ...]
    ) -> Any:
        call = channel.unary_unary(
            path, request_serializer=type(request).SerializeToString, response_deserializer=response.FromString
        )
        return call(request, timeout=timeout, metadata=metadata)

    def _open(self) -> grpc.Channel:
        if self._channel is None:
            opened = open_blocking_channel(self._endpoints[self._current], self._tls)
            with self._lock:
                self._channel = opened
        if self._closed:
            self._drop()
            raise ValueError("the keeper was stopped")
        return self._channel

    def _leave(self) -> None:
        self._current = (self._current + 1) % len(self._endpoints)
        self._drop()

    def _drop(self) -> None:
        with self._lock:
            channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
