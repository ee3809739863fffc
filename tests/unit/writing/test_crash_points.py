"""Crash points of the writing stage: a request is sent, and its answer is not read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from intentc.reconcile.failures import Unavailable
from intentc.writing.connection import Connection
from intentc.writing.endpoint import Endpoint
from tests.support.crash_points import installed
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.anyio

BODY = b'{"resources": [{"operation": "CREATE"}, {"operation": "UPDATE"}, {"operation": "UPDATE_STATUS"}]}'


@pytest.fixture
def reached() -> Iterator[list[str]]:
    """The points that were reached, in order."""
    found: list[str] = []
    with installed(found.append):
        yield found


class Server:
    """Receives one whole request, and answers when the test says so."""

    def __init__(self) -> None:
        self.got = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(len(BODY))
        self.got.set()
        await self.may_answer.wait()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
        await writer.drain()
        writer.close()


@asynccontextmanager
async def served() -> AsyncIterator[tuple[Server, Connection]]:
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        connection = Connection(Endpoint(f"http://127.0.0.1:{port}"))
        try:
            yield server, connection
        finally:
            server.may_answer.set()
            await connection.aclose()


async def test_a_sent_point_is_reached_between_request_and_answer(reached: list[str]) -> None:
    async with served() as (server, connection):
        points = ["create.sent", "update.sent"]
        sender = asyncio.create_task(connection.send("POST", "/sync", BODY))
        await asyncio.wait_for(server.got.wait(), PATIENCE)
        assert reached == points
        assert not sender.done()
        server.may_answer.set()
        assert (await sender).ok
        assert reached == points


async def test_no_point_is_reached_without_a_connection(reached: list[str]) -> None:
    connection = Connection(Endpoint("http://127.0.0.1:1"))
    with pytest.raises(Unavailable):
        await connection.send("POST", "/sync", BODY)
    await connection.aclose()
    assert reached == []
