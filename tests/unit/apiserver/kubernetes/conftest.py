"""The Kubernetes kube over a memory store, asked in process."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.app import create_app
from intentc.loading import load_schema
from intentc.watch.memory import MemoryStore


@pytest.fixture
def server(store: MemoryStore) -> ApiServer:
    return ApiServer(store, load_schema("ambassador"), path="t")


@pytest.fixture
async def kube(server: ApiServer) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(create_app(server))
    async with httpx2.AsyncClient(transport=transport, base_url="http://kube") as client:
        yield client
