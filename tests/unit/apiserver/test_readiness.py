"""``/healthz`` and ``/readyz`` of the API server: without a token, true, and cheap for the store."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from pytest_mock import MockerFixture

from intentc.apiserver.app import create_app
from intentc.apiserver.auth import Keystone
from intentc.apiserver.health import Readiness
from intentc.reconcile.failures import Unavailable
from intentc.watch.memory import MemoryStore

from .conftest import Api

pytestmark = pytest.mark.anyio


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def asked(api: Api, path: str, keystone: Keystone | None = None) -> tuple[int, Any]:
    transport = httpx2.ASGITransport(app=create_app(api.server, keystone))
    async with httpx2.AsyncClient(transport=transport, base_url="http://api") as client:
        answer = await client.get(path)
        return answer.status_code, answer.json()


async def test_a_server_is_ready_while_etcd_answers(api: Api, store: MemoryStore, mocker: MockerFixture) -> None:
    clock = Clock()
    api.server.readiness = Readiness(store, "contrail", clock)
    assert await asked(api, "/readyz") == (200, {"ok": True, "reasons": []})
    reading = mocker.patch.object(store, "range", side_effect=Unavailable("etcd Range: connection refused"))
    assert (await asked(api, "/readyz"))[0] == 200, "an answer holds for a second"
    clock.now = 1.0
    for _ in range(3):
        assert await asked(api, "/readyz") == (
            503,
            {"ok": False, "reasons": ["etcd: etcd Range: connection refused"]},
        )
    assert reading.call_count == 1
    assert (await asked(api, "/healthz"))[0] == 200
    assert await asked(api, "/readyz", Keystone([])) == (503, {"ok": False, "reasons": []}), "strangers get no reasons"
