"""Protobuf's wire format, as far as messages are put together from parts that are encoded already.

Why it exists: a virtual host of ten thousand routes must not be encoded again for one of them. Serialized messages may
be concatenated, and a field of message type is its tag, its length and its bytes; nothing more is needed. Encoding the
parts is left to ``encoding``.
"""

from __future__ import annotations

from collections.abc import Iterable

_LENGTH_DELIMITED = 2


def field(number: int, value: bytes) -> bytes:
    """A field of text, bytes or message type.

    >>> field(2, b"abc").hex()
    '1203616263'
    """
    return head(number, len(value)) + value


def text(number: int, value: str) -> bytes:
    """A field of text; nothing if it is empty, as protobuf has it."""
    return field(number, value.encode()) if value else b""


def flag(number: int) -> bytes:
    """A field of type bool that is true.

    >>> flag(14).hex()
    '7001'
    """
    return varint(number << 3) + varint(1)


def head(number: int, length: int) -> bytes:
    """What precedes the ``length`` bytes of a field: so that long ones need not be copied to be wrapped."""
    return varint(number << 3 | _LENGTH_DELIMITED) + varint(length)


def wrapped(number: int, parts: Iterable[bytes]) -> list[bytes]:
    """A field whose value is the concatenation of ``parts``, itself as parts."""
    listed = list(parts)
    return [head(number, sum(map(len, listed))), *listed]


def any_message(type_url: str, parts: Iterable[bytes]) -> bytes:
    """A ``google.protobuf.Any`` that holds the concatenation of ``parts``."""
    return b"".join((text(1, type_url), *wrapped(2, parts)))


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
