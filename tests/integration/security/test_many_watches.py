"""A client that opens as many watches as it can shuts nobody out: more than its share get 429."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import httpx2
import pytest

from intentc.apiserver.kubernetes import watches
from intentc.apiserver.serving import running_api_server
from intentc.dev.etcd_server import Etcd
from intentc.loading import load_schema
from intentc.watch.memory import MemoryStore
from tests.integration.security.processes_with_few_files import api_server_process
from tests.support.waiting import PATIENCE, until, until_true

pytestmark = [pytest.mark.anyio, pytest.mark.http]

MAPPINGS = "/apis/getambassador.io/v3alpha1/mappings"
TRIED = 600
"""Watches; with two descriptors each more than the process may have files."""


@pytest.mark.etcd
async def test_watches_of_one_client_keep_nobody_from_the_api_server(etcd: Etcd, tmp_path: Path) -> None:
    with api_server_process(etcd, tmp_path, "many-watches", compilers=["ambassador"]) as process:
        printed = tmp_path / "out"
        await until(lambda: printed.read_text().endswith("\n") or process.poll() is not None)
        url = printed.read_text().strip()
        port = int(url.rpartition(":")[2])
        statuses, refused = list[bytes](), b""
        async with (
            AsyncExitStack() as opened,
            httpx2.AsyncClient(base_url=url, trust_env=False, timeout=PATIENCE) as client,
        ):
            for _ in range(TRIED):
                stream = await anyio.connect_tcp("127.0.0.1", port)
                await opened.enter_async_context(stream)
                await stream.send(f"GET {MAPPINGS}?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                answer = await stream.receive()
                statuses.append(answer.split()[1])
                refused = answer if statuses[-1] == b"429" else refused
            # A quarter of 1,024 files are watches at most, half of them from one address.
            assert statuses == [b"200"] * 128 + [b"429"] * (TRIED - 128)
            assert b"retry-after: 1" in refused.lower()
            for path in ("/readyz", "/livez", "/healthz", MAPPINGS):
                assert (await client.get(path)).status_code == 200, path
        assert process.poll() is None
        async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=PATIENCE) as client:

            async def is_watched() -> bool:
                return (await client.get(f"{MAPPINGS}?watch=true&timeoutSeconds=1")).status_code == 200

            # What has ended is free again.
            await until_true(is_watched)


async def test_no_watch_lasts_longer_than_the_server_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "_LONGEST", 1)
    store = MemoryStore()
    async with (
        running_api_server(store, load_schema("ambassador")) as running,
        httpx2.AsyncClient(timeout=PATIENCE, base_url=running.url, trust_env=False) as client,
    ):
        answer = await client.get(f"{MAPPINGS}?watch=true&timeoutSeconds=9223372036854775807")
        assert answer.status_code == 200
    await store.close()
