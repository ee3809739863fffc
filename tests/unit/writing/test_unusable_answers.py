"""An API server or a Keystone that is broken: each answer of it is a failed request."""

from __future__ import annotations

import gzip

import pytest

from intentc.reconcile.failures import Failure, Throttled, Unavailable, UnknownOutcome
from intentc.writing import bounded, connection, keystone
from intentc.writing.answers import Answer, failure
from intentc.writing.connection import Connection
from intentc.writing.endpoint import Credentials, Endpoint
from tests.support.raw_server import Answer as Given
from tests.support.raw_server import answer, endless, raw_server

pytestmark = pytest.mark.anyio


async def failed(given: Given, credentials: bool = False) -> Failure:
    """The error of a request."""
    async with raw_server(given) as server:
        found = Credentials(auth_url=server.url, user_id="x", password=lambda: "y") if credentials else None
        made = Connection(Endpoint(url=server.url, credentials=found))
        try:
            with pytest.raises(Failure) as caught:
                await made.send("GET", "/")
        finally:
            await made.aclose()
    return caught.value


async def test_an_endless_answer_has_an_unknown_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_LARGEST_ANSWER", 1_000_000)
    error = await failed(lambda head: endless())
    assert isinstance(error, UnknownOutcome) and "more than 1,000,000 bytes" in str(error)


async def test_a_compressed_answer_is_not_read() -> None:
    bomb = gzip.compress(bytes(10_000_000))
    error = await failed(lambda head: answer(bomb, Content_Encoding="gzip"))
    assert isinstance(error, UnknownOutcome) and "compressed ('gzip')" in str(error)


async def test_an_endless_answer_of_keystone_is_a_failed_log_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keystone, "_LARGEST_ANSWER", 1_000_000)
    error = await failed(lambda head: endless(), credentials=True)
    assert isinstance(error, Unavailable) and "Keystone" in str(error)


async def test_an_answer_that_takes_too_long_has_an_unknown_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_WHOLE_ANSWER_SECONDS", 0.1)
    monkeypatch.setattr(connection, "_LARGEST_ANSWER", 2**40)
    error = await failed(lambda head: endless(b"x"))
    assert isinstance(error, UnknownOutcome) and "not complete" in str(error)


@pytest.mark.parametrize("status", [400, 404, 405, 429, 500, 599])
@pytest.mark.parametrize("body", [b"[" * 100_000, b"\xff", b'{"item": ' + b"9" * 5000 + b"}", b'{"message": 7}'])
def test_an_error_of_any_content_is_an_error(status: int, body: bytes) -> None:
    found = Answer(status, {"Retry-After": "inf", "X-Etcd-Revision": "9" * 5000}, body)
    error = failure(found)
    assert found.revision is None
    assert found.no_route in (True, False)
    assert not isinstance(error, Throttled) or error.seconds == 300


def test_nothing_is_asked_for_in_compressed_form() -> None:
    assert bounded.UNCOMPRESSED == {"Accept-Encoding": "identity"}
