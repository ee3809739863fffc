"""A Resource Manager that is broken, or another server than expected: each answer of it is a failed request."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from intentc.bridges.azure import client as client_module
from intentc.bridges.azure import transport as transport_module
from intentc.bridges.azure.client import ResourceManagerClient
from intentc.bridges.azure.credentials import StandInCredential
from intentc.reconcile.failures import Throttled, Unavailable
from tests.support.azure_gateway import OWN
from tests.support.raw_server import Answer, answer, endless, raw_server

pytestmark = pytest.mark.anyio
DONE = answer(b'{"status": "Succeeded"}')


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[ResourceManagerClient]:
    async with ResourceManagerClient(url, StandInCredential(), poll_seconds=0.001) as client:
        yield client


async def failure(given: Answer) -> str:
    """The words of the failure of a GET."""
    async with raw_server(given) as server, connected(server.url) as client:
        with pytest.raises(Unavailable) as caught:
            await client.get(OWN)
    return str(caught.value)


async def test_an_endless_answer_is_read_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_module, "LARGEST_ANSWER", 1_000_000)
    async with raw_server(lambda head: endless()) as server, connected(server.url) as client:
        with pytest.raises(Unavailable, match="more than 1,000,000 bytes"):
            await client.get(OWN)


async def test_a_compressed_answer_is_not_read() -> None:
    bomb = gzip.compress(bytes(10_000_000))
    assert "compressed ('gzip')" in await failure(lambda head: answer(bomb, Content_Encoding="gzip"))


@pytest.mark.parametrize("status", [200, 400, 500])
async def test_a_deep_answer_is_not_decoded(status: int) -> None:
    assert "deeper than 64" in await failure(lambda head: answer(b"[" * 100_000, status))


@pytest.mark.parametrize("body", [b"", b"<a/>", b"1" * 5000, b"[]"])
async def test_an_answer_that_is_no_document_is_a_failure(body: bytes) -> None:
    assert await failure(lambda head: answer(body))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7), ("-7", 0), ("inf", 300), ("nan", 0), ("999999999", 300), ("1" * 5000, 300), ("soon", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 300), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Thu, 01 Jan 99999999999 00:00:00 GMT", 0),
    ],
)  # fmt: skip
async def test_a_pause_has_an_end(text: str, seconds: float) -> None:
    async with raw_server(lambda head: answer(b"{}", 429, Retry_After=text)) as server, connected(server.url) as client:
        with pytest.raises(Throttled) as caught:
            await client.get(OWN)
    assert caught.value.seconds == seconds


@pytest.mark.parametrize("text", ["999999999", "inf", "nan", "-7", "soon", "Fri, 31 Dec 9999 23:59:59 GMT"])
async def test_an_operation_is_polled_within_a_minute(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(self: object, seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(transport_module.BoundedTransport, "sleep", sleep)
    polls = 0

    def given(head: str) -> bytes:
        nonlocal polls
        if head.startswith("PUT"):
            return answer(b"{}", 201, Azure_AsyncOperation=f"{server.url}/poll", Retry_After=text)
        polls += 1
        if polls == 1:
            return answer(b'{"status": "InProgress"}', Retry_After=text)
        return DONE if "/poll" in head else answer(b'{"properties": {}}')

    async with raw_server(given) as server, connected(server.url) as client:
        await client.put(OWN, {}, "etag")
    assert slept and all(0 < seconds <= 60 for seconds in slept)


@pytest.mark.parametrize("header", ["Azure_AsyncOperation", "Location"])
async def test_the_token_is_sent_to_no_other_host(header: str) -> None:
    async with raw_server(lambda head: DONE) as other:
        first = lambda head: answer(b"{}", 202, **{header: f"{other.url}/poll"})  # noqa: E731
        async with raw_server(first) as server, connected(server.url) as client:
            with pytest.raises(Unavailable, match=r"names an address at '127\.0\.0\.1:\d+'.* nothing is sent there"):
                await client.put(OWN, {}, "etag")
        assert other.heads == []


@pytest.mark.parametrize("url", ["http://[", "/relative", "ftp://127.0.0.1/", "http://user:secret@127.0.0.1:1/"])
async def test_an_address_that_is_none_of_ours_is_a_failure(url: str) -> None:
    async with (
        raw_server(lambda head: answer(b"{}", 202, Azure_AsyncOperation=url)) as server,
        connected(server.url) as client,
    ):
        with pytest.raises(Unavailable) as caught:
            await client.put(OWN, {}, "etag")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("method", ["get", "put"])
async def test_a_redirect_is_not_followed(method: str) -> None:
    async with raw_server(lambda head: DONE) as other:
        given = answer(b"{}", 307, Location=f"{other.url}/here")
        async with raw_server(lambda head: given) as server, connected(server.url) as client:
            with pytest.raises(Unavailable, match="redirect"):
                await (client.get(OWN) if method == "get" else client.put(OWN, {}, "etag"))
        assert other.heads == []


async def test_an_operation_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_OPERATION_SECONDS", 0.2)

    def given(head: str) -> bytes:
        return answer(b'{"status": "InProgress"}', 202, Azure_AsyncOperation=f"{server.url}/poll")

    async with raw_server(given) as server, connected(server.url) as client:
        with pytest.raises(Unavailable, match="has not ended"):
            await client.put(OWN, {}, "etag")


async def test_large_numbers_in_a_document_are_a_failure_of_this_request() -> None:
    body = msgspec.json.encode({"a": 1}).replace(b"1", b"9" * 5000)
    assert await failure(lambda head: answer(body))
