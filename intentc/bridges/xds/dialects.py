"""The two dialects of aggregated discovery, as messages: state of the world, and incremental.

Why it exists: ``session`` knows one protocol; here it is read from and written in the fields of the one or the other.
Responses are put together from bytes that are encoded already. Either may be long, and nobody else shall wait for it:
both are read and written in parts.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, Protocol

from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.message import DecodeError

from . import limits, wire
from .kinds import Type
from .session import Request, Response

_FIELDS = 2_048
_BYTES = 256 * 1024
"""How much is read at once: some 2 ms."""
_RESOURCES = 1_000
"""That are written at once."""
_LONGEST_FIELD = 64 * 1024
_OTHER_FIELDS = 64
"""Of a request, besides names."""

Reading = Generator[None, None, Request | None]
"""Reads a request, and yields after each part, so that others have their turn; gives None if the request is of a type
that is not served. Raises ``ValueError`` for bytes that are no request, or hold what is too long."""


Writing = Generator[None, None, bytes]
"""Gives the bytes of a response, and yields as ``Reading``."""


class Dialect(Protocol):
    """How requests are read and responses are written. ``whole``: see ``Session``."""

    whole: bool

    def reading(self, message: bytes, most: int) -> Reading:
        """Read a request that names at most ``most`` resources; raises ``TooMuch`` for others."""
        ...

    def writing(self, response: Response) -> Writing:
        """Write a response."""
        ...


class StateOfTheWorld:
    """``DiscoveryRequest`` and ``DiscoveryResponse``."""

    whole = True

    def reading(self, message: bytes, most: int) -> Reading:
        """See ``Dialect``."""
        kind = nonce = version = ""
        error: str | None = None
        names: list[str] = []
        for part in _parts(message, most, node=2):
            told = _parsed(discovery_pb2.DiscoveryRequest(), part)
            kind, nonce, version = told.type_url or kind, told.response_nonce or nonce, told.version_info or version
            error = _error(told) or error
            limits.check_names(told.resource_names)
            names += told.resource_names
            yield
        served = _kind(kind)
        limits.check_versions((version,))
        return Request(served, nonce, version, error, frozenset(names)) if served is not None else None

    def writing(self, response: Response) -> Writing:
        """See ``Dialect``."""
        parts = [wire.text(1, response.version)]
        for number, resource in enumerate(response.resources, start=1):
            if number % _RESOURCES == 0:
                yield
            parts += (wire.head(2, len(resource.body)), resource.body)
        parts += (wire.text(4, response.kind), wire.text(5, response.nonce))
        return b"".join(parts)


class Incremental:
    """``DeltaDiscoveryRequest`` and ``DeltaDiscoveryResponse``."""

    whole = False

    def reading(self, message: bytes, most: int) -> Reading:
        """See ``Dialect``."""
        kind = nonce = ""
        error: str | None = None
        more: list[str] = []
        less: list[str] = []
        known: dict[str, str] = {}
        for part in _parts(message, most, node=1):
            told = _parsed(discovery_pb2.DeltaDiscoveryRequest(), part)
            kind, nonce, error = told.type_url or kind, told.response_nonce or nonce, _error(told) or error
            more += told.resource_names_subscribe
            less += told.resource_names_unsubscribe
            found = dict(told.initial_resource_versions)
            for names in (told.resource_names_subscribe, told.resource_names_unsubscribe, found):
                limits.check_names(names)
            limits.check_versions(found.values())
            known |= found
            yield
        served = _kind(kind)
        return Request(served, nonce, "", error, None, tuple(more), tuple(less), known) if served is not None else None

    def writing(self, response: Response) -> Writing:
        """See ``Dialect``."""
        parts = [wire.text(1, response.version)]
        for number, one in enumerate(response.resources, start=1):
            if number % _RESOURCES == 0:
                yield
            named = wire.text(1, one.version) + wire.head(2, len(one.body))
            parts += wire.wrapped(2, (named, one.body, wire.text(3, one.name)))
        parts += (wire.text(4, response.kind), wire.text(5, response.nonce))
        parts += (wire.text(6, name) for name in response.gone)
        return b"".join(parts)


def _parts(message: bytes, most: int, node: int) -> Iterator[bytes]:
    """A request in parts that are requests themselves, without the field ``node``: nobody asks who an Envoy is. Raises
    ``TooMuch`` for one of more fields than ``most`` names may need."""
    start = 0
    for number, (field, begin, end) in enumerate(wire.fields(message), start=1):
        if number > 3 * most + _OTHER_FIELDS:
            raise limits.TooMuch("names", f"a request has more than {3 * most + _OTHER_FIELDS} fields")
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


def _error(told: Any) -> str | None:
    if not told.HasField("error_detail"):
        return None
    return told.error_detail.message[: limits.LONGEST_MESSAGE] or "refused without a word"
