"""Ports for Envoy to listen on, which nobody else gets meanwhile.

A port that was only found free is anybody's until Envoy listens there: another test's server, or the end of another
test's connection. Envoy then rejects the listener, and tries again only after a while; another Envoy would even share
the port, and take a part of the requests.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FreePort = Callable[[], int]
"""Gives a port at each call, the caller's own until its test ends."""


@contextmanager
def held_port() -> Iterator[int]:
    """A port of loopback, bound but without a listener, so that it refuses connections, until Envoy listens there:
    only sockets that share ports (``SO_REUSEPORT``), as Envoy's do, can be bound to it."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])
