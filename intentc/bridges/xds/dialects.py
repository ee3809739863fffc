"""Reads requests and writes responses in the two dialects of aggregated discovery: state of the world, incremental.

``session`` implements one protocol for both. Responses are concatenated from bytes that are encoded already. Messages
may be long and must not block other streams, so they are read and written in parts.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.message import DecodeError

from intentc.model import protobuf

from . import client_limits
from .elements import Type
from .session import Request, Response

_FIELDS = 2_048
_BYTES = 256 * 1024
"""Bytes that are read at once: some 2 ms."""
_RESOURCES = 1_000
"""Resources that are written at once."""
_LONGEST_FIELD = 64 * 1024
_OTHER_FIELDS = 64
"""Fields of a request in addition to names."""

Reading = Generator[None, None, Request | None]
"""Reads a request and yields after each part, so that other tasks can run; returns None for a type that is not served.

Raises ``ValueError`` for bytes that are no request, or that hold something too long.
"""


Writing = Generator[None, None, bytes]
"""Returns the bytes of a response, and yields as ``Reading``."""


class StateOfTheWorld:
    """``DiscoveryRequest`` and ``DiscoveryResponse``. ``whole``: see ``Session``."""

    whole = True

    def reading(self, message: bytes, most: int) -> Reading:
        """Read a request that names at most ``most`` resources; raises ``TooMuch`` for others."""
        kind = nonce = version = ""
        error: str | None = None
        names: list[str] = []
        for part in _parts(message, most, node=2):
            partial = _parsed(discovery_pb2.DiscoveryRequest(), part)
            kind, nonce = partial.type_url or kind, partial.response_nonce or nonce
            version = partial.version_info or version
            error = _error(partial) or error
            client_limits.check_lengths("a resource name", partial.resource_names, client_limits.LONGEST_NAME)
            names += partial.resource_names
            yield
        served = _kind(kind)
        client_limits.check_lengths("a version", (version,), client_limits.LONGEST_VERSION)
        return Request(served, nonce, version, error, frozenset(names)) if served is not None else None

    def writing(self, response: Response) -> Writing:
        """Write a response."""
        parts = [protobuf.text(1, response.version)]
        for number, resource in enumerate(response.resources, start=1):
            if number % _RESOURCES == 0:
                yield
            parts += (protobuf.head(2, len(resource.body)), resource.body)
        parts += (protobuf.text(4, response.kind), protobuf.text(5, response.nonce))
        return b"".join(parts)


class Incremental:
    """``DeltaDiscoveryRequest`` and ``DeltaDiscoveryResponse``."""

    whole = False

    def reading(self, message: bytes, most: int) -> Reading:
        """As in ``StateOfTheWorld``."""
        kind = nonce = ""
        error: str | None = None
        more: list[str] = []
        less: list[str] = []
        known: dict[str, str] = {}
        for part in _parts(message, most, node=1):
            partial = _parsed(discovery_pb2.DeltaDiscoveryRequest(), part)
            kind, nonce, error = partial.type_url or kind, partial.response_nonce or nonce, _error(partial) or error
            more += partial.resource_names_subscribe
            less += partial.resource_names_unsubscribe
            found = dict(partial.initial_resource_versions)
            for names in (partial.resource_names_subscribe, partial.resource_names_unsubscribe, found):
                client_limits.check_lengths("a resource name", names, client_limits.LONGEST_NAME)
            client_limits.check_lengths("a version", found.values(), client_limits.LONGEST_VERSION)
            known |= found
            yield
        served = _kind(kind)
        return Request(served, nonce, "", error, None, tuple(more), tuple(less), known) if served is not None else None

    def writing(self, response: Response) -> Writing:
        """As in ``StateOfTheWorld``."""
        parts = [protobuf.text(1, response.version)]
        for number, one in enumerate(response.resources, start=1):
            if number % _RESOURCES == 0:
                yield
            named = protobuf.text(1, one.version) + protobuf.head(2, len(one.body))
            parts += protobuf.wrapped(2, (named, one.body, protobuf.text(3, one.name)))
        parts += (protobuf.text(4, response.kind), protobuf.text(5, response.nonce))
        parts += (protobuf.text(6, name) for name in response.deleted)
        return b"".join(parts)


Dialect = StateOfTheWorld | Incremental


def _parts(message: bytes, most: int, node: int) -> Iterator[bytes]:
    """Split a request into parts that are requests themselves, without the field ``node``, which is not used.

    Raises ``TooMuch`` if it has more fields than ``most`` names may need.
    """
    start = 0
    for number, (field, begin, end) in enumerate(protobuf.fields(message), start=1):
        if number > 3 * most + _OTHER_FIELDS:
            raise client_limits.TooMuch("names", f"a request has more than {3 * most + _OTHER_FIELDS} fields")
        if field == node:
            if begin > start:
                yield message[start:begin]
            start = end
        elif end - begin > _LONGEST_FIELD:
            raise ValueError(f"a field of the request has {end - begin} bytes; at most {_LONGEST_FIELD} are allowed")
        elif number % _FIELDS == 0 or end - start > _BYTES:
            yield message[start:end]
            start = end
    yield message[start:]


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


def _error(message: Any) -> str | None:
    if not message.HasField("error_detail"):
        return None
    return message.error_detail.message[: client_limits.LONGEST_MESSAGE] or "rejected without a message"
