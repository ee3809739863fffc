"""Getting at an API server that asks who we are: certificates both ways, names checked, tokens and passwords; all
rotated under a running connection."""

from __future__ import annotations

import logging
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from intentc.apiserver.auth import Keystone, StaticRole, StaticUser
from intentc.apiserver.serving import Running, running_api_server
from intentc.listening.http_server import Tls
from intentc.loading import load_schema
from intentc.loading.configuration import Secret
from intentc.reconcile.failures import Unavailable, UnknownOutcome
from intentc.watch.memory import MemoryStore
from intentc.writing.connection import Connection
from intentc.writing.endpoint import Credentials, Endpoint
from tests.support.certificates import Authority, Issued

pytestmark = [pytest.mark.anyio, pytest.mark.http]

SCHEMA = load_schema("contrail")
ADMIN = (StaticRole("admin", "admin", "admin"),)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@asynccontextmanager
async def serving(
    server: Issued | None = None, *, client_ca: Path | str = "", keystone: Keystone | None = None, port: int = 0
) -> AsyncIterator[Running]:
    store = MemoryStore()
    tls = Tls(str(server.certificate), str(server.key), str(client_ca)) if server else None
    async with running_api_server(store, SCHEMA, tls=tls, keystone=keystone, port=port) as running:
        yield running
    await store.close()


@asynccontextmanager
async def connected(url: str, authority: Authority | None = None, client: Issued | None = None, **more: Any
) -> AsyncIterator[Connection]:  # fmt: skip
    certificate, key = map(str, client) if client else ("", "")
    ca = str(authority.certificate) if authority else ""
    connection = Connection(Endpoint(url, ca=ca, cert=certificate, key=key, answer_seconds=5, **more))
    try:
        yield connection
    finally:
        await connection.aclose()


async def test_both_sides_show_who_they_are(authority: Authority) -> None:
    async with (
        serving(authority.issue("server"), client_ca=authority.certificate) as api,
        connected(api.url, authority, authority.issue("client")) as connection,
    ):
        assert api.url.startswith("https://")
        assert (await connection.send("GET", "/")).ok


async def test_without_a_certificate_nobody_is_let_in_and_the_cause_is_reported(authority: Authority) -> None:
    async with (
        serving(authority.issue("server"), client_ca=authority.certificate) as api,
        connected(api.url, authority) as connection,
    ):
        with pytest.raises(UnknownOutcome, match=r"not take our certificate: see client\.tls"):
            await connection.send("GET", "/")


async def test_a_server_that_another_authority_signed_is_not_talked_to(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    async with serving(authority.issue("server")) as api, connected(api.url, other) as connection:
        with pytest.raises(Unavailable, match="certificate verify failed"):
            await connection.send("GET", "/")


async def test_a_server_whose_certificate_names_another_host_is_not_talked_to(authority: Authority) -> None:
    server = authority.issue("server", alternative="DNS:api.example.org")
    async with serving(server) as api, connected(api.url, authority) as connection:
        with pytest.raises(Unavailable, match="IP address mismatch"):
            await connection.send("GET", "/")


async def test_insecure_talks_to_any_server(authority: Authority) -> None:
    server = authority.issue("server", alternative="DNS:api.example.org")
    async with serving(server) as api, connected(api.url, insecure=True) as connection:
        assert (await connection.send("GET", "/")).ok


def test_no_version_of_tls_before_1_2_is_spoken(authority: Authority) -> None:
    context = Endpoint("https://127.0.0.1:1", ca=str(authority.certificate)).tls()
    assert isinstance(context, ssl.SSLContext)
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


async def test_a_client_certificate_is_rotated_under_a_running_connection(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The server trusts another authority from its restart on: ours is rejected until our files are replaced."""
    caplog.set_level(logging.INFO)
    successor = Authority(tmp_path / "successor")
    client, server = authority.issue("client"), authority.issue("server")
    async with serving(server, client_ca=authority.certificate) as first:
        port = int(first.url.rsplit(":", 1)[1])
        ca, certificate, key = map(str, (authority.certificate, *client))
        connection = Connection(Endpoint(first.url, ca, certificate, key))
        assert (await connection.send("GET", "/")).ok
    async with serving(server, client_ca=successor.certificate, port=port):
        for _ in range(2):
            with pytest.raises((Unavailable, UnknownOutcome)):
                await connection.send("GET", "/")
        client.replace_by(successor.issue("client"))
        assert (await connection.send("GET", "/")).ok
        assert "the TLS files for https://127.0.0.1" in caplog.text
        await connection.aclose()


async def test_files_that_are_half_replaced_leave_the_former_ones_in_use(
    authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    client, successor = authority.issue("client"), authority.issue("successor")
    async with (
        serving(authority.issue("server"), client_ca=authority.certificate) as api,
        connected(api.url, authority, client) as connection,
    ):
        shutil.copy(successor.certificate, client.certificate)
        for _ in range(2):
            assert (await connection.send("GET", "/")).ok
        assert caplog.text.count("can't be used, the former ones stay") == 1
        shutil.copy(successor.key, client.key)
        assert (await connection.send("GET", "/")).ok


def logging_in(url: str, password: Any) -> dict[str, Any]:
    return {"credentials": Credentials(f"{url}/keystone/v3", password, user_id="alice", project_id="admin")}


async def test_an_expired_token_is_renewed_within_the_call() -> None:
    now = [0.0]
    users = [StaticUser("alice", "Alice", lambda: "secret", roles=ADMIN)]
    keystone = Keystone(users, lifetime=10, clock=lambda: now[0])
    async with (
        serving(keystone=keystone) as api,
        connected(api.url, **logging_in(api.url, lambda: "secret")) as connection,
    ):
        for now[0] in (0.0, 11.0, 22.0):
            assert (await connection.send("GET", "/projects")).ok


async def test_a_password_is_rotated_on_both_sides_without_a_restart_of_either(tmp_path: Path) -> None:
    """The server's first: until ours follows, the answer says to check it; then the next call goes through."""
    server_file, client_file = tmp_path / "server", tmp_path / "client"
    for file in (server_file, client_file):
        file.write_text("first\n")
    now = [0.0]
    users = [StaticUser("alice", "Alice", Secret.of_file(server_file).reveal, roles=ADMIN)]
    keystone = Keystone(users, lifetime=10, clock=lambda: now[0])
    password = Secret.of_file(client_file)
    async with (
        serving(keystone=keystone) as api,
        connected(api.url, **logging_in(api.url, password.reveal)) as connection,
    ):
        assert (await connection.send("GET", "/projects")).ok
        server_file.write_text("second\n")
        assert (await connection.send("GET", "/projects")).ok  # the token is as good as it was
        now[0] = 11.0
        for _ in range(3):
            with pytest.raises(Unavailable, match=r"check client\.id, client\.password"):
                await connection.send("GET", "/projects")
        client_file.write_text("second\n")
        assert (await connection.send("GET", "/projects")).ok
    assert password.texts == ("first", "second")


async def test_many_calls_with_one_wrong_password_count_once_against_the_account() -> None:
    tries: list[str] = []

    def asked() -> str:
        tries.append("asked")
        return "right"

    keystone = Keystone([StaticUser("alice", "Alice", asked, roles=ADMIN)])
    async with (
        serving(keystone=keystone) as api,
        connected(api.url, **logging_in(api.url, lambda: "wrong")) as connection,
    ):
        for _ in range(20):
            with pytest.raises(Unavailable):
                await connection.send("GET", "/projects")
    assert len(tries) == 1
