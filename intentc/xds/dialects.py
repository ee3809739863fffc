"""The two dialects of aggregated discovery, as messages: state of the world, and incremental.

Why it exists: ``session`` knows one protocol; here it is read from and written in the fields of the one or the other.
Responses are put together from bytes that are encoded already.
"""

from __future__ import annotations

from typing import Any, Protocol

from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.message import DecodeError

from . import wire
from .kinds import Type
from .session import Request, Response


class Dialect(Protocol):
    """How requests are read and responses are written. ``whole``: see ``Session``."""

    whole: bool

    def read(self, message: bytes) -> Request | None:
        """A request; None if it is of a type that is not served. Raises ``ValueError`` for bytes that are none."""
        ...

    def write(self, response: Response) -> bytes:
        """The bytes of a response."""
        ...


class StateOfTheWorld:
    """``DiscoveryRequest`` and ``DiscoveryResponse``."""

    whole = True

    def read(self, message: bytes) -> Request | None:
        """See ``Dialect``."""
        told = _parsed(discovery_pb2.DiscoveryRequest(), message)
        kind = _kind(told.type_url)
        if kind is None:
            return None
        names = frozenset(told.resource_names)
        return Request(kind, told.response_nonce, told.version_info, _error(told), names)

    def write(self, response: Response) -> bytes:
        """See ``Dialect``."""
        parts = [wire.text(1, response.version)]
        for resource in response.resources:
            parts += (wire.head(2, len(resource.body)), resource.body)
        parts += (wire.text(4, response.kind), wire.text(5, response.nonce))
        return b"".join(parts)


class Incremental:
    """``DeltaDiscoveryRequest`` and ``DeltaDiscoveryResponse``."""

    whole = False

    def read(self, message: bytes) -> Request | None:
        """See ``Dialect``."""
        told = _parsed(discovery_pb2.DeltaDiscoveryRequest(), message)
        kind = _kind(told.type_url)
        if kind is None:
            return None
        return Request(
            kind,
            told.response_nonce,
            error=_error(told),
            more=tuple(told.resource_names_subscribe),
            less=tuple(told.resource_names_unsubscribe),
            known=dict(told.initial_resource_versions),
        )

    def write(self, response: Response) -> bytes:
        """See ``Dialect``."""
        parts = [wire.text(1, response.version)]
        for one in response.resources:
            named = wire.text(1, one.version) + wire.head(2, len(one.body))
            parts += wire.wrapped(2, (named, one.body, wire.text(3, one.name)))
        parts += (wire.text(4, response.kind), wire.text(5, response.nonce))
        parts += (wire.text(6, name) for name in response.gone)
        return b"".join(parts)


def _parsed(message: Any, data: bytes) -> Any:
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        raise ValueError(f"no {type(message).__name__}: {error}") from None
    return message


def _kind(url: str) -> Type | None:
    try:
        return Type(url)
    except ValueError:
        return None


def _error(told: Any) -> str | None:
    return (told.error_detail.message or "refused without a word") if told.HasField("error_detail") else None
