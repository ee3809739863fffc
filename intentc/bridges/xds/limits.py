"""What one client of discovery may ask of the server.

Why it exists: a client is whoever reaches the port, and everything that it sends is kept, compared or answered by one
process that serves all Envoys. Each limit is far above what an Envoy needs, and the error names it. How connections are
limited is left to ``ads``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

LARGEST_REQUEST = 8 * 1024 * 1024
"""Bytes; an Envoy that reconnects names all that it has."""
MOST_NAMES = 16_384
"""Of one type and stream, or twice as many as there are in force, whichever is more."""
LONGEST_NAME = 2_048
LONGEST_VERSION = 256
LONGEST_MESSAGE = 16_384
"""Characters of a refusal that are read; Envoy cuts its own off before."""
MOST_STREAMS = 4_096
MOST_STREAMS_OF_ADDRESS = 1_024
MOST_MADE_UP = 256 * 1024 * 1024
"""Bytes that names may take, over all streams, under which nothing was in force when clients named them."""
FREE_MADE_UP = 64 * 1024
"""Bytes that each stream may take of them, whatever the others have."""
_BYTES_OF_NAME = 256
"""That a name takes in tables, besides its characters."""
UNREAD_SECONDS = 60.0
"""Within which a client must take a response."""


class TooMuch(Exception):
    """A client exceeds ``limit``, a label of the metric; the message is for the client."""

    def __init__(self, limit: str, message: str) -> None:
        super().__init__(message)
        self.limit = limit


def check_names(names: Iterable[str]) -> None:
    """Raises ``ValueError`` if one is too long."""
    longest = max(map(len, names), default=0)
    if longest > LONGEST_NAME:
        raise ValueError(f"a resource name has {longest} characters; at most {LONGEST_NAME} are allowed")


def check_versions(versions: Iterable[str]) -> None:
    """Raises ``ValueError`` if one is too long."""
    longest = max(map(len, versions), default=0)
    if longest > LONGEST_VERSION:
        raise ValueError(f"a version has {longest} characters; at most {LONGEST_VERSION} are allowed")


def most_names(in_force: int) -> int:
    """How many resources of one type a stream may name while ``in_force`` are in force."""
    return max(MOST_NAMES, 2 * in_force)


def check_number(number: int, in_force: int) -> None:
    """Raises ``TooMuch`` if ``number`` names of one type are too many while ``in_force`` are in force."""
    most = most_names(in_force)
    if number > most:
        raise TooMuch("names", f"a stream may name at most {most} resources of one type, and this one named {number}")


class Streams:
    """The streams that are open."""

    def __init__(self) -> None:
        self._of_address: Counter[str] = Counter()

    @contextmanager
    def admitted(self, peer: str) -> Iterator[None]:
        """One stream from ``peer``, as gRPC writes it. Raises ``TooMuch`` if too many are open."""
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
    """Bytes that a name takes."""
    return len(name) + _BYTES_OF_NAME


class MadeUp:
    """What the names take, over all streams, that clients made up."""

    def __init__(self) -> None:
        self._of_stream: dict[object, int] = {}
        self.total = 0

    def note(self, stream: object, size: int) -> None:
        """``stream`` has names of ``size`` bytes now; 0: it has ended. Raises ``TooMuch`` if that is too much."""
        self.total += size - self._of_stream.pop(stream, 0)
        if size:
            self._of_stream[stream] = size
        if size > FREE_MADE_UP and self.total > MOST_MADE_UP:
            raise TooMuch(
                "made up names",
                f"names under which nothing is in force take more than {MOST_MADE_UP} bytes over all streams",
            )
