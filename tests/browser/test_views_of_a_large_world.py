"""Every view of a large world is small and cheap, whoever asks: a page, a command, or ``curl``.

With ``INTENTC_BROWSER=full`` the world has 100,000 resources, else 10,000: what a view holds does not depend on it.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from intentc.diagnostics.json_answers import MOST_BYTES
from intentc.diagnostics.serving import running_diagnostics
from intentc.engine.engine import Engine
from intentc.inspection import Reader
from intentc.inspection.pending_references import every_pending
from tests.browser.large_world import FULL, at_rest
from tests.support.engine_status import engine_status

pytestmark = [pytest.mark.anyio]

GROUPS, PORTS = (2_000, 94_000) if FULL else (500, 8_500)
MOST_SECONDS = 1.0
"""Of computing, by server and client together; a tenth of it is usual."""
HTML = {"Accept": "text/html"}
GROUP = "kind=security_group&name=default-domain:default-project:group-5"
LIST = "kind=access_control_list&name=group-5:egress-access-control-list"
PROJECT = "kind=project&name=default-project"
PORT = "kind=virtual_machine_interface&name=port-77"

ASKED = [
    "/",
    "/healthz",
    "/readyz",
    "/status",
    "/status?pretty",
    "/quarantine?limit=500",
    "/pending?limit=500",
    "/metrics",
    "/objects?limit=500",
    "/objects?limit=500&pretty",
    "/objects?offset=9000&limit=500",
    "/objects?filter=port-777",
    "/objects?state=planned&limit=500",
    *(f"/why?{subject}&limit=500" for subject in (GROUP, LIST, PROJECT, PORT)),
    *(f"/object?{subject}" for subject in (GROUP, LIST, PROJECT, PORT)),
    *(f"/neighbourhood?{subject}&depth=4" for subject in (GROUP, LIST, PROJECT, PORT)),
    "/why?kind=security_group&name=nothing-is-called-so",
    "/reactions",
    "/reactions?pretty",
    "/journal?limit=500",
    "/journal?limit=500&pretty",
    "/views/problems?limit=500",
]
PAGES = [
    "/",
    "/pages/objects",
    "/pages/objects?offset=5000",
    "/pages/objects?filter=egress",
    *(f"/pages/object?{subject}&depth=4" for subject in (GROUP, LIST, PROJECT, PORT)),
    "/pages/reactions",
    "/pages/quarantine",
    "/pages/journal",
]


class Large:
    """``diagnostics.Process`` over an engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def healthy(self) -> bool:
        return True

    def ready(self) -> tuple[bool, tuple[str, ...]]:
        return True, ()

    def status(self) -> dict[str, Any]:
        return engine_status(self._engine)

    def pending(self) -> list[dict[str, str]]:
        return every_pending(self._engine.world)


@pytest.fixture(scope="module")
async def http(anyio_backend: str) -> AsyncIterator[httpx2.AsyncClient]:
    engine = await at_rest(GROUPS, PORTS)
    assert len(engine.world.cache) > GROUPS + PORTS
    async with (
        running_diagnostics(Large(engine), "127.0.0.1", 0, reader=Reader(engine)) as url,
        httpx2.AsyncClient(trust_env=False, base_url=url, timeout=60) as client,
    ):
        yield client


@pytest.mark.parametrize("path", ASKED)
async def test_an_answer_is_small_and_cheap(http: httpx2.AsyncClient, path: str) -> None:
    await _small_and_cheap(http, path, {})


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_is_small_and_cheap(http: httpx2.AsyncClient, path: str) -> None:
    await _small_and_cheap(http, path, HTML)


async def _small_and_cheap(http: httpx2.AsyncClient, path: str, headers: dict[str, str]) -> None:
    began = time.thread_time()
    answer = await http.get(path, headers=headers)
    seconds = time.thread_time() - began
    assert answer.status_code in (200, 404)
    assert len(answer.content) <= MOST_BYTES
    assert seconds < MOST_SECONDS
