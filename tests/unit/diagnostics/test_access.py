"""Who may ask the diagnostics, over real sockets and real TLS."""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from intentc.cli.command_error import CommandError
from intentc.cli.diagnostics_client import asked, current_status, url_of, wait_for
from intentc.diagnostics import serving
from intentc.diagnostics.access import EVERYBODY, Access, PresentToken, shown_token
from intentc.diagnostics.serving import OpenToAll, UnusableCertificate, running_diagnostics
from intentc.listening.http_server import Tls
from intentc.loading.configuration import Address, FilePath, Secret
from intentc.loading.configuration.sections import Diagnostics, DiagnosticsTls
from tests.support.certificates import Authority, Issued, write_certificate
from tests.support.waiting import PATIENCE
from tests.unit.diagnostics.answered import Answered, ObservedCompiler

pytestmark = pytest.mark.anyio

TOKEN = "a-token-of-some-length"
PATHS = ("/", "/status", "/metrics", "/objects", "/events", "/pages/objects", "/nowhere")


@asynccontextmanager
async def served(
    access: Access, compiler: ObservedCompiler | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[str]:
    async with running_diagnostics(compiler or ObservedCompiler(), host, 0, reader=Answered(), access=access) as url:
        yield url


async def status_of(url: str, path: str = "/status", **headers: str) -> int:
    async with (
        httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http,
        http.stream("GET", url + path, headers=headers) as answer,
    ):
        return answer.status_code


def with_token(token: str = TOKEN) -> Access:
    return Access(lambda: token)


def basic(pair: str) -> str:
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


# A token


@pytest.mark.parametrize("path", PATHS)
async def test_without_the_token_nothing_is_reported_not_even_what_there_is(path: str) -> None:
    async with served(with_token()) as url, httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http:
        answer = await http.get(url + path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Basic realm=")
    assert set(answer.json()) == {"error", "next_step", "candidates"}


@pytest.mark.parametrize(
    "authorization", [f"Bearer {TOKEN}", f"bearer {TOKEN}", basic(f"anybody:{TOKEN}"), basic(f":{TOKEN}")]
)
async def test_a_request_with_the_token_is_allowed(authorization: str) -> None:
    async with served(with_token()) as url:
        assert await status_of(url, authorization=authorization) == 200


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN.upper()}",
        f"Token {TOKEN}",
        TOKEN,
        basic(TOKEN),
        basic(f"{TOKEN}:"),
        basic(f"u:{TOKEN}x"),
        "Basic !!!",
        "Basic /w==",
    ],
)
async def test_a_request_with_another_token_is_rejected(authorization: str) -> None:
    async with served(with_token()) as url:
        assert await status_of(url, authorization=authorization) == 401


@pytest.mark.parametrize(
    "header",
    ["x-forwarded-user", "x-remote-user", "remote-user", "x-forwarded-for", "forwarded", "x-real-ip", "cookie"],
)
async def test_no_other_header_makes_anybody_known(header: str) -> None:
    async with served(with_token()) as url:
        assert await status_of(url, **{header: TOKEN}) == 401
        assert await status_of(url, **{header: "127.0.0.1"}) == 401


async def test_an_empty_token_lets_nobody_in() -> None:
    """As while its file is being written anew."""
    async with served(with_token("")) as url:
        assert await status_of(url, authorization="Bearer") == 401
        assert await status_of(url, authorization=basic("u:")) == 401


async def test_a_token_that_was_rotated_counts_at_once_and_the_former_no_more(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    async with served(Access(Secret.of_file(file).reveal)) as url:
        assert await status_of(url, authorization=f"Bearer {TOKEN}") == 200
        file.write_text("another-token-of-some-length")
        assert await status_of(url, authorization=f"Bearer {TOKEN}") == 401
        assert await status_of(url, authorization="Bearer another-token-of-some-length") == 200


@pytest.mark.parametrize(
    "spoil", [Path.unlink, lambda file: file.write_text(""), lambda file: file.write_text("short")]
)
async def test_without_a_usable_token_file_nobody_gets_in_until_there_is_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, spoil: Callable[[Path], object]
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    async with served(Access(PresentToken(Secret.of_file(file)))) as url:
        spoil(file)
        for shown in (TOKEN, "short", TOKEN):
            assert await status_of(url, authorization=f"Bearer {shown}") == 401
        (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
        assert f"token_file: {file} is missing" in record.message
        assert "short" not in record.message
        file.write_text("another-token-of-some-length")
        assert await status_of(url, authorization=f"Bearer {TOKEN}") == 401
        assert await status_of(url, authorization="Bearer another-token-of-some-length") == 200


async def test_a_token_file_that_became_a_pipe_holds_nobody_up(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    async with served(Access(PresentToken(Secret.of_file(file)))) as url:
        file.unlink()
        os.mkfifo(file)
        with anyio.fail_after(PATIENCE):
            assert await status_of(url, authorization=f"Bearer {TOKEN}") == 401


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_probes_are_answered_without_a_token_and_without_reasons(path: str) -> None:
    compiler = ObservedCompiler()
    compiler.alive, compiler.reasons = False, ("etcd at 10.0.0.1 is away",)
    async with served(with_token(), compiler) as url, httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http:
        stranger = await http.get(url + path)
        known = await http.get(url + path, headers={"authorization": f"Bearer {TOKEN}"})
    assert (stranger.status_code, stranger.json()) == (503, {"ok": False, "reasons": []})
    assert known.json()["reasons"]


async def test_a_rejection_carries_the_strict_headers() -> None:
    async with served(with_token()) as url, httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http:
        answer = await http.get(url + "/status")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-frame-options"] == "DENY"


def test_the_token_is_the_password_whatever_colons_it_holds() -> None:
    assert shown_token(basic("user:a:b")) == "a:b"


# An address that others reach


@pytest.mark.parametrize("access", [EVERYBODY, Access(tls=Tls("c", "k"))])
async def test_an_address_that_others_reach_is_not_served_to_everybody(access: Access) -> None:
    with pytest.raises(OpenToAll, match=r"token_file or intentc\.diagnostics\.tls\.client_ca, or listen on 127"):
        async with served(access, host="0.0.0.0"):
            pass


async def test_with_a_token_it_is_and_any_host_name_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "is_loopback", lambda host: False)
    async with served(with_token()) as url:
        assert await status_of(url, authorization=f"Bearer {TOKEN}", host="compiler.example") == 200
        assert await status_of(url, host="compiler.example") == 401


# TLS


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def tls_of(issued: Issued, client_ca: Path | None = None) -> Tls:
    return Tls(str(issued.certificate), str(issued.key), str(client_ca) if client_ca else "")


def reaching(url: str, token: str = "", **files: Path) -> Diagnostics:
    """The section by which a command asks."""
    tls = DiagnosticsTls(**{name: FilePath(file) for name, file in files.items()})
    return Diagnostics(address=Address(url.partition("://")[2]), token=Secret(token), tls=tls)


async def test_over_tls_a_command_asks_with_the_token_and_checks_the_certificate(authority: Authority) -> None:
    server = authority.issue("server")
    async with served(Access(lambda: TOKEN, tls_of(server))) as url:
        assert url.startswith("https://")
        where = reaching(url, TOKEN, ca=authority.certificate)
        assert (await current_status(where))["applied_revision"] == 42
        assert (await asked(where, "/objects"))["total"] == 3
        assert (await wait_for(where, lambda status: True, 5))[1]


async def test_the_services_own_section_is_enough_for_commands_on_its_machine(tmp_path: Path) -> None:
    """Its certificate is its own authority, and is trusted as such."""
    own = write_certificate(tmp_path)
    assert own.certificate and own.key
    async with served(Access(lambda: TOKEN, Tls(str(own.certificate), str(own.key)))) as url:
        assert (await current_status(reaching(url, TOKEN, cert=own.certificate, key=own.key)))["applied_revision"] == 42


async def test_commands_show_the_services_certificate_where_they_have_none_of_their_own(authority: Authority) -> None:
    server, ca = authority.issue("server"), authority.certificate
    async with served(Access(None, tls_of(server, ca))) as url:
        where = reaching(url, cert=server.certificate, key=server.key, client_ca=ca, ca=ca)
        assert (await current_status(where))["applied_revision"] == 42


async def test_a_certificate_that_nobody_vouches_for_is_not_trusted(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    async with served(Access(lambda: TOKEN, tls_of(authority.issue("server")))) as url:
        with pytest.raises(CommandError, match="its certificate is not trusted"):
            await current_status(reaching(url, TOKEN, ca=other.certificate))


async def test_with_a_client_authority_only_those_with_a_certificate_come_in(
    authority: Authority, tmp_path: Path
) -> None:
    clients = Authority(tmp_path / "clients")
    mine, foreign = clients.issue("me"), authority.issue("foreign")
    async with served(Access(None, tls_of(authority.issue("server"), clients.certificate))) as url:
        known = reaching(url, ca=authority.certificate, client_cert=mine.certificate, client_key=mine.key)
        assert (await current_status(known))["applied_revision"] == 42
        nobody = reaching(url, ca=authority.certificate)
        other = reaching(url, ca=authority.certificate, client_cert=foreign.certificate, client_key=foreign.key)
        for unknown in (nobody, other):
            with pytest.raises(CommandError):
                await current_status(unknown)


async def test_older_tls_is_not_spoken(authority: Authority) -> None:
    async with served(Access(lambda: TOKEN, tls_of(authority.issue("server")))) as url:
        context = ssl.create_default_context(cafile=str(authority.certificate))
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        with pytest.warns(DeprecationWarning):
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        host, _, port = url.partition("://")[2].rpartition(":")
        with pytest.raises((ssl.SSLError, ConnectionError, anyio.BrokenResourceError)):
            await anyio.connect_tcp(host, int(port), ssl_context=context)


async def test_unusable_certificates_are_reported_with_their_key(tmp_path: Path) -> None:
    (tmp_path / "none.pem").write_text("nothing")
    for tls in (Tls("/nowhere.pem", "/nowhere.key"), Tls(str(tmp_path / "none.pem"), str(tmp_path / "none.pem"))):
        with pytest.raises(UnusableCertificate, match=r"see intentc\.diagnostics\.tls"):
            async with served(Access(None, tls)):
                pass


# Commands


async def test_a_command_without_the_token_is_reported_so() -> None:
    async with served(with_token()) as url:
        with pytest.raises(CommandError, match="the diagnostics require a token") as error:
            await current_status(reaching(url))
    assert "intentc.diagnostics.token" in error.value.next_step


async def test_what_a_command_shows_never_holds_the_token() -> None:
    async with served(with_token()) as url:
        with pytest.raises(CommandError) as error:
            await asked(reaching(url, f"{TOKEN}-wrong"), "/objects")
    assert TOKEN not in f"{error.value.what} {error.value.where} {error.value.next_step}"


async def test_the_answer_about_what_is_not_there_is_handed_to_the_command() -> None:
    answered = Answered()
    answered.reasons["k", "n"] = {"exists": False, "summary": "nobody claims it", "parts": []}
    async with running_diagnostics(ObservedCompiler(), "127.0.0.1", 0, reader=answered) as url:
        found: dict[str, Any] = await asked(reaching(url), "/why", {"kind": "k", "name": "n"})
        assert found["summary"] == "nobody claims it"


@pytest.mark.parametrize(
    ("address", "asked_at"),
    [
        (":8877", "127.0.0.1"),
        ("0.0.0.0:8877", "127.0.0.1"),
        ("[::]:8877", "[::1]"),
        ("host.example:8877", "host.example"),
    ],
)
def test_a_compiler_that_listens_everywhere_is_asked_on_this_machine(address: str, asked_at: str) -> None:
    assert url_of(Diagnostics(address=Address(address)), "/x") == f"http://{asked_at}:8877/x"


async def test_names_that_may_be_meant_are_the_next_step() -> None:
    async with served(EVERYBODY) as url:
        with pytest.raises(CommandError) as error:
            await asked(reaching(url), "/why", {"kind": "k", "name": "n"})
    assert error.value.next_step == "did you mean d:shop:web?"
