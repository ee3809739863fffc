"""Decodes the parts of DER (X.690) that certificates and keys need: definite lengths, low tags."""

from __future__ import annotations

from typing import NamedTuple

_CONSTRUCTED = 0x20


class Malformed(ValueError):
    """A text is not what its label says; the message contains nothing of it."""


class Node(NamedTuple):
    """One element: its tag (one byte, as encoded) and its content."""

    tag: int
    content: bytes


def node(data: bytes) -> Node:
    """Decodes ``data`` as one element. Raises ``Malformed``."""
    found, rest = _first(data)
    if rest:
        raise Malformed("there is more than its length says")
    return found


def children(parent: Node) -> tuple[Node, ...]:
    """The elements of a constructed one. Raises ``Malformed``."""
    if not parent.tag & _CONSTRUCTED:
        raise Malformed("a part that should be made of others is not")
    found: list[Node] = []
    rest = parent.content
    while rest:
        one, rest = _first(rest)
        found.append(one)
    return tuple(found)


def integer(number: Node) -> bytes:
    """The bytes of an integer without leading zeros. Raises ``Malformed``."""
    if number.tag != 0x02:
        raise Malformed("a part that should be a number is none")
    return number.content.lstrip(b"\0")


def _first(data: bytes) -> tuple[Node, bytes]:
    if len(data) < 2:
        raise Malformed("it ends too early")
    length, start = data[1], 2
    if length >= 0x80:
        size = length & 0x7F
        if not 1 <= size <= 4:
            raise Malformed("a length in it is impossible")
        length, start = int.from_bytes(data[2 : 2 + size], "big"), 2 + size
    if len(data) < start + length:
        raise Malformed("it ends too early")
    return Node(data[0], data[start : start + length]), data[start + length :]
