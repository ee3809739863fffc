"""Several API servers over one etcd: the client goes on with the next when one fails, and stays with what works."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest

from intentc.reconcile.failures import Unavailable, UnknownOutcome
from intentc.writing.connection import Connection
from intentc.writing.endpoint import Credentials, Endpoint

pytestmark = pytest.mark.anyio


class Servers:
    """Two servers; ``down``: host → what happens to a request there."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.down: dict[str, Callable[[httpx2.Request], httpx2.Response]] = {}

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.host
        self.asked.append(host)
        if host in self.down:
            return self.down[host](request)
        headers = {"X-Subject-Token": "token"} if request.url.path.endswith("/auth/tokens") else {}
        return httpx2.Response(200, json={}, headers=headers)

    def connection(self, **options: object) -> Connection:
        endpoint = Endpoint("http://a", others=("http://b",), **options)  # type: ignore[arg-type]
        return Connection(endpoint, transport=httpx2.MockTransport(self.answer))


def refused(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("refused", request=request)


def cut(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ReadError("cut", request=request)


def busy(request: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(503)


@pytest.mark.parametrize("failure", [refused, busy])
async def test_a_write_that_failed_at_one_server_goes_to_the_next(
    failure: Callable[[httpx2.Request], httpx2.Response],
) -> None:
    servers = Servers()
    connection = servers.connection()
    servers.down["a"] = failure
    assert (await connection.send("POST", "/x", b"{}")).ok
    servers.down.clear()
    assert (await connection.send("POST", "/x", b"{}")).ok
    assert servers.asked == ["a", "b", "b"]


async def test_a_write_without_an_answer_is_not_repeated_but_the_next_call_goes_elsewhere() -> None:
    servers = Servers()
    connection = servers.connection()
    servers.down["a"] = cut
    with pytest.raises(UnknownOutcome):
        await connection.send("POST", "/x", b"{}")
    assert (await connection.send("POST", "/x", b"{}")).ok
    assert servers.asked == ["a", "b"]


async def test_a_read_without_an_answer_is_repeated_elsewhere() -> None:
    servers = Servers()
    servers.down["a"] = cut
    assert (await servers.connection().send("GET", "/x")).ok
    assert servers.asked == ["a", "b"]


async def test_when_no_server_can_be_reached_the_error_names_all() -> None:
    servers = Servers()
    servers.down = {"a": refused, "b": refused}
    with pytest.raises(Unavailable, match=r"http://a: .*; no connection to http://b: "):
        await servers.connection().send("GET", "/x")


async def test_a_log_in_goes_to_the_next_keystone_when_one_is_down() -> None:
    servers = Servers()
    servers.down = {"a": refused}
    credentials = Credentials(
        "http://a/keystone/v3", lambda: "p", user_id="u", other_auth_urls=("http://b/keystone/v3",)
    )
    connection = servers.connection(credentials=credentials)
    assert (await connection.send("GET", "/x")).ok
    assert servers.asked == ["a", "b", "a", "b"]
