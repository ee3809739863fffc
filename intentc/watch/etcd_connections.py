"""Makes calls to one of several etcd members, with credentials, time limits and safe repetition.

After a failure the next member is used. A call is repeated only if it was never sent, changes nothing, or had a stale
token. A token is fetched when first needed and again when etcd calls it stale. Watches get a channel each;
``lease_keeper`` has a connection of its own. All channels have the same options.

State: ``etcd`` reports members that fail and tokens that are stale.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import anyio
import grpc
import grpc.aio

from intentc.model.files import Stamp, stamps
from intentc.reconcile.failures import Failure, Unavailable, Untrusted
from intentc.watch import rpc_pb2 as rpc
from intentc.watch.etcd_messages import (
    is_stale_token,
    is_without_authentication,
    never_left,
    own_cancellation_only,
    store_error,
)

KEEPALIVE_SECONDS = 10

_DRAINING_CALLS = 3
_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # etcd ends connections that ping without a call under way, or more often than each 5 s.
    ("grpc.keepalive_time_ms", KEEPALIVE_SECONDS * 1000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 0),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # Otherwise gRPC shares one connection among channels, and closing a watch's channel would drop nothing.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
)


class Tls(NamedTuple):
    """Files in PEM form. Without ``ca`` the system's roots count; ``certificate`` and ``key`` go together."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def stamps(self) -> tuple[Stamp, ...]:
        """Differs once a file was replaced: so a rotated certificate shows."""
        return stamps(path for path in self if path is not None)


class Endpoint(NamedTuple):
    """One member: ``host:port`` and whether the connection is encrypted."""

    address: str
    secure: bool


def parse_endpoint(text: str, tls: Tls | None) -> Endpoint:
    """``host:port``, with or without ``http://`` or ``https://``. Raises ``ValueError`` naming the text."""
    if "@" in text:
        raise ValueError(
            "an etcd endpoint holds a user or a password; set etcd.username and etcd.password_file instead"
        )
    scheme, separator, rest = text.partition("://")
    address = (rest if separator else text).rstrip("/")
    if separator and scheme not in ("http", "https"):
        raise ValueError(f"etcd endpoint {text!r}: scheme {scheme!r} is neither http nor https")
    port = address.rpartition(":")[2]
    if not (port.isascii() and port.isdecimal()) or address.startswith(":") or "/" in address:
        raise ValueError(f"etcd endpoint {text!r} is not of the form host:port")
    if scheme == "http" and separator and tls is not None:
        raise ValueError(f"etcd endpoint {text!r} is plain http, but TLS files are given; write https://")
    return Endpoint(address, secure=tls is not None or (bool(separator) and scheme == "https"))


def open_channel(endpoint: Endpoint, tls: Tls | None) -> grpc.aio.Channel:
    """A new channel with a connection of its own; TLS files are read now. Raises ``OSError`` if one can't be."""
    if not endpoint.secure:
        return grpc.aio.insecure_channel(endpoint.address, options=_OPTIONS)
    return grpc.aio.secure_channel(endpoint.address, _credentials(tls), options=_OPTIONS)


def open_blocking_channel(endpoint: Endpoint, tls: Tls | None) -> grpc.Channel:
    """As ``open_channel``, for a thread of its own: its calls block, and belong to no event loop."""
    if not endpoint.secure:
        return grpc.insecure_channel(endpoint.address, options=_OPTIONS)
    return grpc.secure_channel(endpoint.address, _credentials(tls), options=_OPTIONS)


async def drain() -> None:
    """Return after gRPC has notified our event loop about the calls that were cut.

    It does so a moment after the cut, from its own thread, and fails in whichever loop runs then if ours is closed. A
    call that ends before it begins follows them on the same way.
    """
    for _ in range(_DRAINING_CALLS):
        channel = grpc.aio.insecure_channel("127.0.0.1:1", options=_OPTIONS)
        with suppress(grpc.aio.AioRpcError):
            await channel.unary_unary("/intentc/Drain")(b"", timeout=0)
        await channel.close()


def _credentials(tls: Tls | None) -> grpc.ChannelCredentials:
    files = tls or Tls()
    return grpc.ssl_channel_credentials(
        root_certificates=_read(files.ca),
        private_key=_read(files.key),
        certificate_chain=_read(files.certificate),
    )


def _read(path: Path | None) -> bytes | None:
    return None if path is None else path.read_bytes()


_Response = TypeVar("_Response", bound="_Message", covariant=True)
_Opened = TypeVar("_Opened")
Metadata = tuple[tuple[str, str], ...]


class _Message(Protocol):
    def SerializeToString(self) -> bytes: ...  # noqa: N802 - protobuf's name

    @classmethod
    def FromString(cls, data: bytes) -> Any: ...  # noqa: N802 - protobuf's name


class _Shared:
    """The channel that all unary calls to one member share, with its call objects."""

    def __init__(self, endpoint: Endpoint, tls: Tls | None) -> None:
        self.tls_stamps = tls.stamps() if tls else ()
        self.channel = open_channel(endpoint, tls)
        self.doubtful = False
        """Whether the last call failed: before the next one, check whether the files were replaced."""
        self.calls: dict[str, Any] = {}

    def call(self, path: str, response: type[_Message]) -> Any:
        found = self.calls.get(path)
        if found is None:
            found = self.calls[path] = self.channel.unary_unary(
                path,
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=response.FromString,
            )
        return found


class Connections:
    """All connections of one store. ``password`` is called at each log-in, since the password may be rotated.

    Raises ``Unavailable``, ``Denied`` or another ``Failure`` from every call.
    """

    def __init__(
        self,
        endpoints: tuple[Endpoint, ...],
        tls: Tls | None,
        username: str,
        password: Callable[[], str],
        timeout: float,
    ) -> None:
        self.timeout = timeout
        self.attempts = len(endpoints)
        self._endpoints = endpoints
        self._tls = tls
        self._username = username
        self._password = password
        self._token: str | None = None
        self._current = 0
        self._shared: dict[Endpoint, _Shared] = {}
        self._retired: list[_Shared] = []
        self._watches: set[grpc.aio.Channel] = set()
        self._closed = False
        self._used = False

    async def unary(self, path: str, request: _Message, response: type[_Response], *, repeatable: bool) -> _Response:
        """Make one call. ``repeatable``: it changes nothing, so it may be repeated after an unknown outcome."""
        name = path.rpartition("/")[2]
        failed = 0
        fresh_token = fresh_files = False
        while True:
            self._ensure_open(name)
            endpoint = self.endpoint()
            try:
                metadata = await self.metadata()
                return await self._call(endpoint, path, request, response, metadata)
            except grpc.aio.AioRpcError as error:
                if is_stale_token(error) and self._username and not fresh_token:
                    fresh_token = True
                    self.forget_token()
                    continue
                answer = store_error(name, error.details() or "", error.code())
                if not isinstance(answer, Unavailable):
                    raise answer from None
                self.leave(endpoint)
                if not fresh_files and never_left(error) and self._has_outdated_files(endpoint):
                    fresh_files = True
                    continue
                failed += 1
                if failed >= self.attempts or not (repeatable or never_left(error)):
                    raise type(answer)(f"{answer} ({endpoint.address})") from None

    def endpoint(self) -> Endpoint:
        """The member that calls use at present."""
        return self._endpoints[self._current]

    def leave(self, endpoint: Endpoint) -> None:
        """Use the next member, unless another call has switched already. Before the next call to this one, TLS files
        are read again if they were replaced."""
        shared = self._shared.get(endpoint)
        if shared is not None:
            shared.doubtful = True
        if endpoint != self.endpoint():
            return
        self._current = (self._current + 1) % len(self._endpoints)

    async def metadata(self) -> Metadata:
        """Our credentials; empty if etcd has no authentication. Raises ``grpc.aio.AioRpcError`` as calls do."""
        if not self._username:
            return ()
        if self._token is None:
            request = rpc.AuthenticateRequest(name=self._username, password=self._password())
            try:
                answer = await self._call(
                    self.endpoint(), "/etcdserverpb.Auth/Authenticate", request, rpc.AuthenticateResponse, ()
                )
                self._token = str(answer.token)
            except grpc.aio.AioRpcError as error:
                if not is_without_authentication(error):
                    raise
                self._token = ""
        return (("token", self._token),) if self._token else ()

    def forget_token(self) -> None:
        """Drop the token: the next call fetches a new one."""
        self._token = None

    @property
    def has_user(self) -> bool:
        """True if a user name is configured, so that a new token may help after a rejection."""
        return bool(self._username)

    def open_watch_channel(self) -> grpc.aio.Channel:
        """A channel for a single watch, to the present member; return it to ``close_watch_channel``."""
        self._ensure_open("Watch")
        channel = self._open(lambda: open_channel(self.endpoint(), self._tls))
        self._watches.add(channel)
        return channel

    async def close_watch_channel(self, channel: grpc.aio.Channel) -> None:
        """Close a watch's connection, also while our task is being cancelled."""
        self._watches.discard(channel)
        with anyio.CancelScope(shield=True):
            await channel.close()

    async def close(self) -> None:
        """Close all connections."""
        self._closed = True
        channels = [shared.channel for shared in (*self._shared.values(), *self._retired)] + list(self._watches)
        self._shared.clear()
        self._retired.clear()
        self._watches.clear()
        with anyio.CancelScope(shield=True):
            for channel in channels:
                await channel.close()
            if self._used:
                await drain()

    async def _call(
        self,
        endpoint: Endpoint,
        path: str,
        request: _Message,
        response: type[_Response],
        metadata: Metadata,
    ) -> _Response:
        shared = self._shared_for(endpoint)
        call = shared.call(path, response)
        async with own_cancellation_only(path.rpartition("/")[2]):
            answer: _Response = await call(request, timeout=self.timeout, metadata=metadata)
            shared.doubtful = False
            return answer

    def _shared_for(self, endpoint: Endpoint) -> _Shared:
        shared = self._shared.get(endpoint)
        if shared is not None and shared.doubtful and self._has_outdated_files(endpoint):
            # Not closed yet: calls may be under way on it.
            self._retired.append(self._shared.pop(endpoint))
            shared = None
        if shared is None:
            shared = self._shared[endpoint] = self._open(lambda: _Shared(endpoint, self._tls))
        return shared

    def _has_outdated_files(self, endpoint: Endpoint) -> bool:
        shared = self._shared.get(endpoint)
        return shared is not None and self._tls is not None and shared.tls_stamps != self._tls.stamps()

    def _open(self, opener: Callable[[], _Opened]) -> _Opened:
        self._used = True
        try:
            return opener()
        except OSError as error:
            raise Untrusted(f"etcd TLS file can't be read: {error}; check etcd.tls.*") from error

    def _ensure_open(self, call: str) -> None:
        if self._closed:
            raise Failure(f"etcd {call}: the store is closed")
