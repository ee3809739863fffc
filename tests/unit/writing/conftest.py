"""The services over a toy API server, without a network."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from intentc.writing.endpoint import Endpoint
from intentc.writing.http import HttpReadService, HttpWriteService, http_services
from tests.unit.writing.toy_api import SCHEMA, ToyApi


@pytest.fixture
def api() -> ToyApi:
    return ToyApi()


@pytest.fixture
async def services(api: ToyApi) -> AsyncIterator[tuple[HttpWriteService, HttpReadService]]:
    transport = httpx2.ASGITransport(api.app)
    async with http_services(Endpoint("http://api"), SCHEMA, pools=["numbers"], transport=transport) as both:
        yield both


@pytest.fixture
def write(services: tuple[HttpWriteService, HttpReadService]) -> HttpWriteService:
    return services[0]


@pytest.fixture
def read(services: tuple[HttpWriteService, HttpReadService]) -> HttpReadService:
    return services[1]
