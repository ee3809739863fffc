"""A service that asks who asks, and the commands of its configuration."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest

from tests.support.certificates import Authority
from tests.support.commands import Intentc
from tests.support.live_system import LiveSystem
from tests.support.waiting import PATIENCE

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

TOKEN = "a-token-of-some-length"


def configured(intentc: Intentc, **diagnostics: object) -> None:
    """The configuration file, with this section ``intentc.diagnostics``."""
    configuration = json.loads(intentc.configuration.read_text())
    configuration["intentc"]["diagnostics"] = diagnostics
    intentc.write(configuration)


async def test_diagnostics_answer_only_with_the_token_over_tls(
    intentc: Intentc, world: LiveSystem, tmp_path: Path
) -> None:
    authority = Authority(tmp_path / "authority")
    server, secret = authority.issue("server"), tmp_path / "token"
    secret.write_text(TOKEN)
    secret.chmod(0o600)
    tls = {"cert": str(server.certificate), "key": str(server.key), "ca": str(authority.certificate)}
    configured(intentc, address="127.0.0.1:0", token_file=str(secret), tls=tls)
    service = intentc.start()
    url = await service.url()
    assert url.startswith("https://")
    await world.create("security_group", "g")
    address = {"INTENTC_INTENTC__DIAGNOSTICS__ADDRESS": url.partition("://")[2]}
    listed = await intentc("quarantine", "list", "-o", "json", environment=address)
    assert (listed.code, listed.json["quarantine"]) == (0, [])
    secret.write_text(f"{TOKEN}-rotated")
    assert (await intentc("show", environment=address)).code == 0
    configured(intentc, address="127.0.0.1:0", token=f"{TOKEN}-of-somebody-else", tls=tls)
    rejected = await intentc("show", environment=address)
    assert rejected.code == 3
    assert "the token is wrong" in rejected.err
    assert TOKEN not in rejected.err + service.log
    assert await service.terminate() == 0


async def test_a_service_that_would_be_open_to_all_does_not_start(intentc: Intentc) -> None:
    configured(intentc, address=":0")
    ended = await intentc("run")
    assert ended.code == 3
    assert "set intentc.diagnostics.token_file" in ended.err
    assert f"{intentc.configuration}:" in ended.err


async def test_a_certificate_that_is_not_there_is_reported_and_nothing_is_started(
    intentc: Intentc, tmp_path: Path
) -> None:
    missing = {"cert": str(tmp_path / "no.pem"), "key": str(tmp_path / "no.key")}
    configured(intentc, address="127.0.0.1:0", tls=missing)
    ended = await intentc("run")
    assert ended.code == 3
    assert "intentc.diagnostics.tls" in ended.err
    assert str(tmp_path / "no.pem") in ended.err


async def test_a_service_whose_page_is_open_ends_in_order(intentc: Intentc) -> None:
    service = intentc.start()
    url = await service.url()
    async with (
        httpx2.AsyncClient(timeout=PATIENCE, trust_env=False) as http,
        http.stream("GET", f"{url}/events") as followed,
    ):
        lines = followed.aiter_lines()
        assert await anext(lines)
        assert await service.terminate() == 0
        assert [line async for line in lines][-1] == ""
    levels = {json.loads(line)["level"] for line in service.log.splitlines()}
    assert not levels & {"error", "critical"}
