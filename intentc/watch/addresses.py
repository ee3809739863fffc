"""Parses etcd's endpoints, and opens gRPC channels to them: with TLS files, and with the options of all channels.

Why it exists: channels to the same members are opened in three places (one shared by the calls, one for each watch, one
in the thread that renews the leader's lease), and must be alike. ``connections`` decides which member is used, and when
to use the next.

It keeps no channel that it opens. ``drain`` waits until gRPC has reported the calls that were cut; for that it opens
channels that lead nowhere.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import grpc.aio

from intentc.model.files import Stamp, stamps

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
