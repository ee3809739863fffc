"""Limits what discovery clients may ask of the server, each of them and all together.

Anyone who reaches the port is a client, and one process that serves all Envoys stores, compares and answers everything
that clients send. Each limit is far above what an Envoy needs, and the error names it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

LARGEST_REQUEST = 8 * 1024 * 1024
"""Bytes; an Envoy that reconnects names all resources that it has."""
MOST_NAMES = 16_384
"""Names of one type and stream, or twice the number in force, whichever is more."""
LONGEST_NAME = 2_048
LONGEST_VERSION = 256
LONGEST_MESSAGE = 16_384
"""Characters of an error message that are read; Envoy truncates its own earlier."""
MOST_STREAMS = 4_096
MOST_STREAMS_OF_ADDRESS = 1_024
MOST_UNKNOWN_NAMES = 256 * 1024 * 1024
"""Bytes of unknown names over all streams: names under which nothing was in force when clients named them."""
FREE_UNKNOWN_NAMES = 64 * 1024
"""Bytes of unknown names that each stream may always have."""
_BYTES_OF_NAME = 256
"""Bytes of a name in tables, in addition to its characters."""
UNREAD_SECONDS = 60.0
"""Seconds in which a client must read a response."""


class TooMuch(Exception):
    """A client exceeds ``limit``, a label of the metric; the message is for the client."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit


def check_lengths(what: str, texts: Iterable[str], most: int) -> None:
    """Raise ``ValueError`` if one of ``texts`` has more than ``most`` characters; ``what``: such as "a version"."""
    longest = max(map(len, texts), default=0)
    if longest > most:
        raise ValueError(f"{what} has {longest} characters; at most {most} are allowed")


def most_names(in_force: int) -> int:
    """The number of resources of one type that a stream may name while ``in_force`` are in force."""
    return max(MOST_NAMES, 2 * in_force)


def check_number(number: int, in_force: int) -> None:
    """Raise ``TooMuch`` if ``number`` names of one type are too many while ``in_force`` are in force."""
    most = most_names(in_force)
    if number > most:
        raise TooMuch("names", f"a stream may name at most {most} resources of one type, and this one named {number}")


class Streams:
    """Counts the open streams."""

    def __init__(self) -> None:
        self._of_address: Counter[str] = Counter()

    @contextmanager
    def admitted(self, peer: str) -> Iterator[None]:
        """Count one stream from ``peer`` (in gRPC's notation) in the block. Raises ``TooMuch`` if too many are open."""
        address = peer.rpartition(":")[0] or peer
        if self._of_address.total() >= MOST_STREAMS:
            raise TooMuch("streams", f"{MOST_STREAMS} streams are open, and more are not accepted")
        if self._of_address[address] >= MOST_STREAMS_OF_ADDRESS:
            raise TooMuch(
                "streams of an address",
                f"{MOST_STREAMS_OF_ADDRESS} streams from {address} are open, and more are not accepted",
            )
        self._of_address[address] += 1
        try:
            yield
        finally:
            self._of_address[address] -= 1
            if not self._of_address[address]:
                del self._of_address[address]


def cost(name: str) -> int:
    """The memory of a name, in bytes."""
    return len(name) + _BYTES_OF_NAME


class UnknownNames:
    """Counts the memory of unknown names over all streams."""

    def __init__(self) -> None:
        self._of_stream: dict[object, int] = {}
        self.total = 0

    def note(self, stream: object, size: int) -> None:
        """Note that ``stream`` has unknown names of ``size`` bytes now; 0: it has ended. Raises ``TooMuch``."""
        self.total += size - self._of_stream.pop(stream, 0)
        if size:
            self._of_stream[stream] = size
        if size > FREE_UNKNOWN_NAMES and self.total > MOST_UNKNOWN_NAMES:
            raise TooMuch(
                "unknown names",
                f"names under which nothing is in force take more than {MOST_UNKNOWN_NAMES} bytes over all streams",
            )
