"""Encodes fields of protobuf messages, concatenates encoded parts, and finds the fields in a message.

A virtual host of ten thousand routes is not encoded again for one of them: serialized messages may be concatenated, and
a field of message type is its tag, its length and its bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

_EIGHT_BYTES, _LENGTH_DELIMITED = 1, 2
"""Wire types."""
_LONGEST_NUMBER = 70
"""Bits, seven a byte."""


def field(number: int, value: bytes) -> bytes:
    """A field of text, bytes or message type.

    >>> field(2, b"abc").hex()
    '1203616263'
    """
    return head(number, len(value)) + value


def text(number: int, value: str) -> bytes:
    """A field of text; nothing if it is empty, as protobuf does."""
    return field(number, value.encode()) if value else b""


def flag(number: int) -> bytes:
    """A field of type bool that is true.

    >>> flag(14).hex()
    '7001'
    """
    return varint(number << 3) + varint(1)


def double(number: int, value: float) -> bytes:
    """A field of type double; nothing if it is zero, as protobuf does.

    >>> double(7, 2).hex()
    '390000000000000040'
    """
    return varint(number << 3 | _EIGHT_BYTES) + struct.pack("<d", value) if value else b""


def head(number: int, length: int) -> bytes:
    """The tag and length before the ``length`` bytes of a field, so that long values need no copy to be wrapped."""
    return varint(number << 3 | _LENGTH_DELIMITED) + varint(length)


def wrapped(number: int, parts: Iterable[bytes]) -> list[bytes]:
    """A field whose value is the concatenation of ``parts``, returned as parts."""
    listed = list(parts)
    return [head(number, sum(map(len, listed))), *listed]


def any_message(type_url: str, parts: Iterable[bytes]) -> bytes:
    """A ``google.protobuf.Any`` that holds the concatenation of ``parts``."""
    return b"".join((text(1, type_url), *wrapped(2, parts)))


def fields(data: bytes) -> Iterator[tuple[int, int, int]]:
    """The number, start and end of each field in a message, tag and length included.

    Raises ``ValueError`` for bytes that are no message.

    >>> list(fields(text(2, "abc") + flag(14)))
    [(2, 0, 5), (14, 5, 7)]
    """
    at, end = 0, len(data)
    while at < end:
        start = at
        tag, at = _number(data, at)
        match tag & 7:
            case 0:
                _, at = _number(data, at)
            case 1:
                at += 8
            case 2:
                length, at = _number(data, at)
                at += length
            case 5:
                at += 4
            case other:
                raise ValueError(f"a field of wire type {other}")
        if at > end:
            raise ValueError("a field that is cut off")
        yield tag >> 3, start, at


def _number(data: bytes, at: int) -> tuple[int, int]:
    """The number that starts at a position, and its end."""
    number = shift = 0
    while at < len(data) and shift < _LONGEST_NUMBER:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte <= 0x7F:
            return number, at
        shift += 7
    raise ValueError("a number that is cut off")


def varint(value: int) -> bytes:
    """A number, seven bits a byte, the lowest first.

    >>> varint(300).hex()
    'ac02'
    """
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
