"""An API server that asks for no token still keeps web pages off, and connections that never send a request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import httpx2
import pytest

from intentc.apiserver.serving import running_api_server
from intentc.dev.etcd_server import Etcd
from intentc.loading import load_schema
from intentc.watch.memory import MemoryStore
from tests.integration.security.processes_with_few_files import api_server_process
from tests.support.waiting import PATIENCE, until

pytestmark = [pytest.mark.anyio, pytest.mark.http]

SYNC = b'{"resources": []}'
HALF_OPEN = 1_200


@pytest.fixture
async def api() -> AsyncIterator[httpx2.AsyncClient]:
    store = MemoryStore()
    async with (
        running_api_server(store, load_schema("contrail")) as running,
        httpx2.AsyncClient(timeout=PATIENCE, base_url=running.url, trust_env=False) as client,
    ):
        yield client
    await store.close()


@pytest.mark.parametrize(
    ("headers", "status", "advice"),
    [
        ({"content-type": "text/plain"}, 415, "Content-Type: application/json"),
        ({}, 415, "Content-Type: application/json"),
        ({"content-type": "application/json", "origin": "https://evil.example"}, 403, "without an Origin header"),
        ({"content-type": "application/json", "sec-fetch-site": "cross-site"}, 403, "from a program"),
        ({"content-type": "application/json", "host": "rebound.example"}, 400, "server.hosts"),
    ],
)
async def test_a_web_page_writes_nothing(
    api: httpx2.AsyncClient, headers: dict[str, str], status: int, advice: str
) -> None:
    answer = await api.post("/sync", content=SYNC, headers=headers)
    assert answer.status_code == status
    assert advice in answer.json()["message"]


async def test_a_web_page_reads_nothing(api: httpx2.AsyncClient) -> None:
    assert (await api.get("/projects", headers={"host": "rebound.example"})).status_code == 400
    assert (await api.get("/projects", headers={"origin": "null"})).status_code == 403


async def test_a_host_that_is_named_is_answered_besides_this_machines_own() -> None:
    """Behind a proxy that passes ``Host`` on."""
    store = MemoryStore()
    async with (
        running_api_server(store, load_schema("contrail"), hosts=["api.example.org"]) as running,
        httpx2.AsyncClient(timeout=PATIENCE, base_url=running.url, trust_env=False) as client,
    ):
        for host, status in (
            ("api.example.org", 200),
            ("API.example.org.:443", 200),
            ("localhost.", 200),
            ("[::1]:9091", 200),
            ("rebound.example", 400),
            ("*", 400),
        ):
            assert (await client.get("/projects", headers={"host": host})).status_code == status, host
    await store.close()


@pytest.mark.parametrize(
    ("path", "status"), [("/healthz", "200"), ("/readyz", "200"), ("/projects", "400"), ("/", "400")]
)
async def test_probes_are_answered_without_a_host(api: httpx2.AsyncClient, path: str, status: str) -> None:
    """As load balancers send them, in HTTP/1.0."""
    with anyio.fail_after(PATIENCE):
        async with await anyio.connect_tcp("127.0.0.1", api.base_url.port or 0) as stream:
            await stream.send(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            assert (await stream.receive()).split()[1].decode() == status


@pytest.mark.parametrize("written", ["application/json", 'application/json; charset="UTF-8"'])
async def test_programs_write_json(api: httpx2.AsyncClient, written: str) -> None:
    assert (await api.post("/sync", content=SYNC, headers={"content-type": written})).status_code == 200


@pytest.mark.etcd
async def test_half_open_connections_keep_nobody_from_the_api_server(etcd: Etcd, tmp_path: Path) -> None:
    """More connections that send half a request line than the process may have files: whoever asks is answered."""
    with api_server_process(etcd, tmp_path, "half-open") as process:
        printed, log = tmp_path / "out", tmp_path / "log"
        await until(lambda: printed.read_text().endswith("\n") or process.poll() is not None)
        url = printed.read_text().strip()
        async with AsyncExitStack() as opened, httpx2.AsyncClient(base_url=url, trust_env=False, timeout=60) as client:
            for _ in range(HALF_OPEN):
                stream = await anyio.connect_tcp("127.0.0.1", int(url.rpartition(":")[2]))
                await opened.enter_async_context(stream)
                await stream.send(b"GET /proj")
            assert (await client.get("/projects?count=true")).status_code == 200
            headers = {"content-type": "application/json"}
            assert (await client.post("/sync", content=SYNC, headers=headers)).status_code == 200
        assert process.poll() is None
        lines = [line for line in log.read_text().splitlines() if "connections to the API server" in line]
        assert len(lines) == 1, log.read_text()
        assert log.stat().st_size < 10_000
