"""Connections to the diagnostics: so many at once, and none that keeps its place without a whole request."""

from __future__ import annotations

import errno
import logging
import resource
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from anyio.abc import SocketStream
from pytest_mock import MockerFixture

from intentc.diagnostics import serving
from intentc.diagnostics.access import EVERYBODY, Access
from intentc.listening.connections import MOST, PATIENCE, Connections, Listener, most_connections
from intentc.listening.http_server import Tls
from tests.support.certificates import write_certificate
from tests.support.waiting import PATIENCE as WAIT
from tests.support.waiting import until
from tests.unit.diagnostics.answered import Answered, ObservedCompiler

pytestmark = pytest.mark.anyio

BOUND = 8
HALF = b"GET /status HTTP/1.1\r\nX: "
WHOLE = b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n"
CLOSED = (anyio.EndOfStream, anyio.BrokenResourceError)


class ServedDiagnostics:
    """Diagnostics with few connections; all that a test opens is closed with it."""

    def __init__(self, url: str, opened: AsyncExitStack, connections: Connections) -> None:
        self.url = url
        self.connections = connections
        self._opened = opened

    async def connect(self, sent: bytes = b"") -> SocketStream:
        host, _, port = self.url.partition("://")[2].rpartition(":")
        stream = await self._opened.enter_async_context(await anyio.connect_tcp(host, int(port)))
        if sent:
            await stream.send(sent)
        return stream

    async def status(self) -> int:
        async with httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http:
            return (await http.get(f"{self.url}/status")).status_code


@asynccontextmanager
async def site(
    mocker: MockerFixture, patience: float = PATIENCE, access: Access = EVERYBODY
) -> AsyncIterator[ServedDiagnostics]:
    connections = Connections(BOUND, patience)
    mocker.patch.object(serving, "Connections", return_value=connections)
    with anyio.fail_after(WAIT):
        async with (
            serving.running_diagnostics(ObservedCompiler(), "127.0.0.1", 0, reader=Answered(), access=access) as url,
            AsyncExitStack() as opened,
        ):
            yield ServedDiagnostics(url, opened, connections)


async def ended(stream: SocketStream) -> bool:
    """Whether the other side closes without a word; waits for that."""
    try:
        return not await stream.receive()
    except CLOSED:
        return True


async def test_however_many_send_half_a_request_who_asks_is_answered(mocker: MockerFixture) -> None:
    async with site(mocker) as served:
        for _ in range(10 * BOUND):
            await served.connect(HALF)
        assert await served.status() == 200
        assert len(served.connections) <= BOUND


async def test_the_oldest_without_a_request_goes_first(mocker: MockerFixture) -> None:
    async with site(mocker) as served:
        streams = [await served.connect(HALF) for _ in range(BOUND)]
        await served.connect(HALF)
        assert await ended(streams[0])
        await streams[1].send(b"1\r\nHost: localhost\r\n\r\n")
        assert (await streams[1].receive()).startswith(b"HTTP/1.1 200")


async def test_an_idle_connection_is_displaced_after_those_that_never_asked(mocker: MockerFixture) -> None:
    async with site(mocker) as served:
        idle = await served.connect(WHOLE)
        assert (await idle.receive()).startswith(b"HTTP/1.1 200")
        for _ in range(4 * BOUND):
            await served.connect(HALF)
        await idle.send(WHOLE)
        assert (await idle.receive()).startswith(b"HTTP/1.1 200")


async def test_a_process_without_files_closes_what_comes_and_logs_one_line(
    mocker: MockerFixture, caplog: pytest.LogCaptureFixture
) -> None:
    """asyncio alone writes a traceback for each connection of the backlog, and looks again at once."""
    connections = Connections(BOUND)
    with Listener(socket.AF_INET, socket.SOCK_STREAM) as listener, caplog.at_level(logging.WARNING):
        listener.limit(connections)
        mocker.patch("socket.socket.accept", side_effect=OSError(errno.EMFILE, "too many open files"))
        for _ in range(3):
            with pytest.raises(ConnectionAbortedError):
                listener.accept()
        mocker.patch("socket.socket.accept", side_effect=OSError(errno.EBADF, "closed"))
        with pytest.raises(OSError, match="closed"):
            listener.accept()
    (record,) = caplog.records
    assert "no file descriptors left" in record.message


async def test_followers_are_not_crowded_out(mocker: MockerFixture) -> None:
    async with site(mocker, patience=0.2) as served:
        follower = await served.connect(b"GET /events?only=status HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await follower.receive()).startswith(b"HTTP/1.1 200")
        late = [await served.connect(HALF) for _ in range(3 * BOUND)]
        for stream in late:
            assert await ended(stream)
        await until(lambda: len(served.connections) == 1)
        assert await served.status() == 200


@pytest.mark.parametrize("sent", [b"", HALF, b"GET /status HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"])
async def test_one_that_sends_no_whole_request_is_closed_after_a_while(mocker: MockerFixture, sent: bytes) -> None:
    async with site(mocker, patience=0.2) as served:
        stream = await served.connect(sent)
        while not await ended(stream):
            pass
        await until(lambda: len(served.connections) == 0)


async def test_a_further_request_has_to_come_whole_too(mocker: MockerFixture) -> None:
    async with site(mocker, patience=0.2) as served:
        stream = await served.connect(WHOLE)
        assert (await stream.receive()).startswith(b"HTTP/1.1 200")
        await stream.send(HALF)
        while not await ended(stream):
            pass


async def test_half_a_handshake_is_closed_after_a_while(mocker: MockerFixture, tmp_path: Path) -> None:
    own = write_certificate(tmp_path)
    access = Access(lambda: "a-token-of-some-length", Tls(str(own.certificate), str(own.key)))
    async with site(mocker, patience=0.2, access=access) as served:
        assert await ended(await served.connect(b"\x16\x03\x01"))


async def test_a_crowd_is_one_line_of_the_log(mocker: MockerFixture, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with site(mocker) as served:
            for _ in range(5 * BOUND):
                await served.connect(HALF)
            assert await served.status() == 200
    (record,) = caplog.records
    assert f"{BOUND} connections to the diagnostics are open" in record.message
    assert "; 1 times since the last line about it, the oldest waiting connection, if any, was" in record.message


@pytest.mark.parametrize(
    ("files", "most"), [(1024, 256), (256, 64), (20, 16), (10**6, MOST), (resource.RLIM_INFINITY, MOST)]
)
def test_most_of_the_files_are_left_to_the_compiler(mocker: MockerFixture, files: int, most: int) -> None:
    mocker.patch("resource.getrlimit", return_value=(files, files))
    assert most_connections() == most


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1"])
async def test_at_any_address_of_this_machine_its_own_name_is_answered(host: str) -> None:
    async with (
        serving.running_diagnostics(ObservedCompiler(), host, 0) as url,
        httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http,
    ):
        assert (await http.get(f"{url}/status")).status_code == 200
        assert (await http.get(f"{url}/status", headers={"host": "rebound.example"})).status_code == 400
