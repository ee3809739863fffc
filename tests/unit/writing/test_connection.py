"""Errors of broken calls, no request is sent twice, tokens, and no secret leaks."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from starlette.responses import JSONResponse, Response

from intentc.model import Key
from intentc.reconcile.failures import Failure, Unavailable, UnknownOutcome
from intentc.writing import Written
from intentc.writing.connection import Connection
from intentc.writing.endpoint import Credentials, Endpoint
from intentc.writing.http import HttpReadService, HttpWriteService, http_services
from intentc.writing.keystone import login_body
from tests.unit.writing.toy_api import SCHEMA, Sent, ToyApi, create, reject, update

pytestmark = pytest.mark.anyio

PASSWORD, TOKEN = "canary-password", "canary-token"
CREDENTIALS = Credentials("http://api/keystone/v3", lambda: PASSWORD, user_id="compiler", project_name="admin")


def broken(error: Callable[[str], Exception], calls: list[str]) -> httpx2.MockTransport:
    def handle(request: httpx2.Request) -> httpx2.Response:
        calls.append(request.url.path)
        raise error("gone")

    return httpx2.MockTransport(handle)


Services = tuple[HttpWriteService, HttpReadService]


@asynccontextmanager
async def over(
    transport: httpx2.AsyncBaseTransport | None, url: str = "http://api", **options: Any
) -> AsyncIterator[Services]:
    endpoint = Endpoint(url, **options)
    async with http_services(endpoint, SCHEMA, pools=["numbers"], transport=transport) as both:
        yield both


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (httpx2.ConnectError, Unavailable),
        (httpx2.ConnectTimeout, Unavailable),
        (httpx2.PoolTimeout, Unavailable),
        (httpx2.ReadTimeout, UnknownOutcome),
        (httpx2.WriteTimeout, UnknownOutcome),
        (httpx2.ReadError, UnknownOutcome),
        (httpx2.WriteError, UnknownOutcome),
        (httpx2.RemoteProtocolError, UnknownOutcome),
    ],
)
async def test_a_call_that_breaks_is_unreachable_before_and_unknown_after_sending(
    error: Callable[[str], Exception], outcome: type[Failure]
) -> None:
    calls: list[str] = []
    async with over(broken(error, calls)) as (write, _):
        with pytest.raises(outcome):
            await write.create(create())
    assert len(calls) == 1, "nothing is repeated blindly"


async def test_an_error_without_a_text_has_that_of_its_cause() -> None:
    def refused(text: str) -> Exception:
        error = httpx2.ConnectError("")
        error.__cause__ = OSError("All connection attempts failed")
        return error

    async with over(broken(refused, [])) as (write, _):
        with pytest.raises(Unavailable, match=r"ConnectError: All connection attempts failed$"):
            await write.create(create())
    async with over(broken(lambda text: httpx2.ConnectError(""), [])) as (write, _):
        with pytest.raises(Unavailable, match=r"ConnectError$"):
            await write.create(create())


async def test_a_read_that_breaks_is_unreachable() -> None:
    async with over(broken(httpx2.ReadTimeout, [])) as (_, read):
        with pytest.raises(Unavailable):
            await read.read(Key("access_list", "a1"))


async def test_a_batch_that_breaks_is_unknown_for_all_and_sent_once() -> None:
    calls: list[str] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        calls.append(request.url.path)
        if request.url.path == "/sync":
            raise httpx2.ReadTimeout("gone")
        return httpx2.Response(200, json={})

    async with over(httpx2.MockTransport(handle)) as (write, _):
        results = await asyncio.gather(*(write.create(create(f"u{n}")) for n in range(5)), return_exceptions=True)
    assert {type(result) for result in results} == {UnknownOutcome}
    assert calls == ["/", "/sync"]


async def test_a_connection_that_is_cut_after_sending_is_unknown() -> None:
    received = 0

    async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal received
        await reader.readuntil(b"\r\n\r\n")
        received += 1
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(cut, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        async with over(None, f"http://127.0.0.1:{port}") as (write, _):
            with pytest.raises(UnknownOutcome):
                await write.update(update())
    assert received == 1


async def test_a_server_that_is_not_there_is_unreachable_and_named() -> None:
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async with over(None, f"http://127.0.0.1:{port}") as (write, _):
        with pytest.raises(Unavailable, match=f"127.0.0.1:{port}"):
            await write.update(update())


@pytest.mark.parametrize("url", ["api:9091", "ftp://api", "http://", f"http://me:{PASSWORD}@api"])
async def test_an_unusable_address_is_rejected_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match="address must") as rejected:
        Connection(Endpoint(url))
    assert PASSWORD not in str(rejected.value)


async def test_unusable_tls_files_are_rejected(tmp_path: Any) -> None:
    with pytest.raises(OSError, match="No such file"):
        Connection(Endpoint("https://api", ca=str(tmp_path / "absent.pem")))


def test_tls_verifies_unless_insecure() -> None:
    checked, unchecked = Endpoint("https://api").tls(), Endpoint("https://api", insecure=True).tls()
    assert isinstance(checked, ssl.SSLContext)
    assert isinstance(unchecked, ssl.SSLContext)
    assert (checked.verify_mode, checked.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert unchecked.verify_mode is ssl.CERT_NONE


def test_without_tls_no_certificate_is_loaded_and_nobody_is_trusted() -> None:
    context = Endpoint("http://api").tls()
    assert (context.verify_mode, context.check_hostname, context.get_ca_certs()) == (ssl.CERT_REQUIRED, True, [])


class Keystone:
    """Gives out ``canary-token-1``, ``-2``, …; only the last one is good."""

    def __init__(self, api: ToyApi) -> None:
        self.given = 0
        self.logins: list[Any] = []
        self.answer: Response | None = None
        api.rule = self.rule

    def rule(self, sent: Sent) -> Response | None:
        if sent.path == "/keystone/v3/auth/tokens":
            self.logins.append(sent.body)
            self.given += 1
            return self.answer or JSONResponse({}, 201, {"X-Subject-Token": f"{TOKEN}-{self.given}"})
        return None if sent.headers.get("x-auth-token") == f"{TOKEN}-{self.given}" else reject(401, "expired")


async def test_every_call_carries_the_token_of_one_login(api: ToyApi) -> None:
    keystone = Keystone(api)
    async with over(httpx2.ASGITransport(api.app), credentials=CREDENTIALS) as (write, _):
        await asyncio.gather(*(write.create(create(f"u{n}")) for n in range(3)))
        await write.update(update())
    assert keystone.logins == [login_body(CREDENTIALS, PASSWORD)]


async def test_an_expired_token_is_renewed_once_and_the_call_repeated(api: ToyApi) -> None:
    keystone = Keystone(api)
    async with over(httpx2.ASGITransport(api.app), credentials=CREDENTIALS) as (write, _):
        await write.create(create())
        keystone.given += 1
        api.sent.clear()
        assert isinstance(await write.update(update()), Written)
    assert [sent.path for sent in api.sent] == ["/access-list/a1", "/keystone/v3/auth/tokens", "/access-list/a1"]


async def test_calls_that_are_rejected_together_log_in_once(api: ToyApi) -> None:
    keystone = Keystone(api)
    async with over(httpx2.ASGITransport(api.app), credentials=CREDENTIALS) as (write, read):
        await write.create(create())
        keystone.given += 1
        keystone.logins.clear()
        await asyncio.gather(*(read.identify(create(f"u{n}").name) for n in range(5)), return_exceptions=True)
    assert len(keystone.logins) == 1


async def test_a_token_that_is_rejected_twice_means_the_server_is_closed_to_us(api: ToyApi) -> None:
    keystone = Keystone(api)
    async with over(httpx2.ASGITransport(api.app), credentials=CREDENTIALS) as (write, _):
        keystone.answer = JSONResponse({}, 201, {"X-Subject-Token": "useless"})
        with pytest.raises(Unavailable, match=r"401.*trusts this Keystone"):
            await write.update(update())
    assert len(api.sent) == 4


async def test_without_credentials_a_401_says_which_keys_to_set(api: ToyApi, write: HttpWriteService) -> None:
    api.rule = lambda sent: reject(401)
    with pytest.raises(Unavailable, match=r"keystone\.authurl"):
        await write.update(update())
    assert "x-auth-token" not in api.sent[0].headers


@pytest.mark.parametrize("answer", [reject(401, f"no user with {PASSWORD}"), JSONResponse({}, 201)])
async def test_a_failed_login_says_what_to_check_and_sends_nothing(api: ToyApi, answer: Response) -> None:
    Keystone(api).answer = answer
    async with over(httpx2.ASGITransport(api.app), credentials=CREDENTIALS) as (write, _):
        with pytest.raises(Unavailable, match=r"client\.password") as failed:
            await write.update(update())
    assert PASSWORD not in str(failed.value)
    assert [sent.path for sent in api.sent] == ["/keystone/v3/auth/tokens"]


async def test_no_secret_is_logged_or_shown(api: ToyApi, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    keystone = Keystone(api)
    errors = []
    async with over(httpx2.ASGITransport(api.app), credentials=CREDENTIALS) as (write, _):
        await write.create(create())
        keystone.given += 1
        await write.update(update())
        keystone.answer = reject(500, TOKEN)
        keystone.given += 1
        with pytest.raises(Failure) as failed:
            await write.update(update())
        errors.append(repr(failed.value))
    shown = caplog.text + "".join(errors) + repr(CREDENTIALS) + repr(Endpoint("http://api", credentials=CREDENTIALS))
    assert caplog.records
    assert PASSWORD not in shown
    assert TOKEN not in shown


def test_a_project_may_be_named_in_a_domain() -> None:
    named = Credentials("http://k", str, user_id="bob", project_name="shop", domain_name="Default")
    auth = login_body(named, "p")["auth"]
    assert auth["identity"]["password"]["user"] == {"id": "bob", "password": "p"}
    assert auth["scope"] == {"project": {"name": "shop", "domain": {"name": "Default"}}}


def test_without_a_project_the_token_has_no_scope() -> None:
    assert "scope" not in login_body(Credentials("http://k", str, user_id="bob"), "p")["auth"]
