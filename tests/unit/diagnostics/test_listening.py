"""The socket on which diagnostics are served."""

from __future__ import annotations

import socket

import pytest

from intentc.diagnostics.serving import _listening


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_listening_socket_says_tcp_so_that_answers_are_not_delayed(host: str) -> None:
    """asyncio switches Nagle's delay off only on connections whose socket says so."""
    with _listening(host, 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
