"""Learning the capabilities of the server once, and logging missing ones."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from intentc.reconcile.failures import Throttled
from intentc.writing.answers import Answer
from intentc.writing.connection import Capabilities, Connection
from intentc.writing.endpoint import Endpoint
from tests.unit.writing.toy_api import ToyApi, reject

pytestmark = pytest.mark.anyio


def test_a_server_without_revisions_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    capabilities = Capabilities()
    for _ in range(3):
        assert capabilities.note(Answer(200, {}, b"")) is None
    assert capabilities.revisions is False
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("content", "limit", "relaxes"),
    [
        (b'{"max_txn_ops":1024,"relaxed_references":true}', 1024, True),
        (b'{"max_txn_ops":1024}', 1024, False),
        (b"{}", 0, False),
        (b"<html>", 0, False),
    ],
)
def test_what_the_server_reports_of_itself_is_learned_or_known_to_be_unknown(
    content: bytes, limit: int, relaxes: bool
) -> None:
    capabilities = Capabilities()
    capabilities.note_about(Answer(200, {}, content))
    assert (capabilities.operations, capabilities.relaxes) == (limit, relaxes)


async def test_many_who_want_to_know_ask_once(api: ToyApi) -> None:
    connection = Connection(Endpoint("http://api"), transport=httpx2.ASGITransport(api.app))
    capabilities = Capabilities()
    await asyncio.gather(*(capabilities.learn(connection) for _ in range(5)))
    await connection.aclose()
    assert [sent.path for sent in api.sent] == ["/"]
    assert capabilities.operations == api.limit


async def test_a_server_that_asks_for_a_pause_is_asked_again(api: ToyApi) -> None:
    connection = Connection(Endpoint("http://api"), transport=httpx2.ASGITransport(api.app))
    capabilities = Capabilities()
    api.rule = lambda sent: reject(503, "starting", Retry_After="1")
    with pytest.raises(Throttled):
        await capabilities.learn(connection)
    api.rule = lambda sent: None
    await capabilities.learn(connection)
    await connection.aclose()
    assert capabilities.operations == api.limit
