"""Fixtures with a real Envoy."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.envoy import failing
from tests.envoy.gateway_system import Chain, GatewaySystem, living, using
from tests.envoy.handmade_system import HandmadeSystem, built
from tests.support.envoy.held_ports import FreePort, held_port


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failure shows the state of the test's Envoys and of their servers at that moment."""
    report = yield
    if report.failed:
        given = getattr(item, "funcargs", {})
        for name in ("either", "site"):
            if isinstance(found := given.get(name), HandmadeSystem):
                report.sections += failing.state(found.server, found.envoy)
        if isinstance(live := given.get("live"), GatewaySystem):
            report.sections += failing.state(live.gateway.xds, live.gateway.envoy)
    return report


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """As everywhere; one event loop for all tests of a module, so that they can share what runs in it."""
    return "asyncio"


@pytest.fixture(scope="module")
async def chain() -> AsyncIterator[Chain]:
    """The whole chain with an Envoy at its end, one for all tests of a module."""
    async with living() as found:
        yield found


@pytest.fixture
async def live(chain: Chain, tmp_path: Path) -> AsyncIterator[GatewaySystem]:
    """The chain for one test, with nothing applied yet, and nothing of it left for the next one."""
    async with using(chain, tmp_path) as found:
        yield found


@pytest.fixture
def free_port() -> Iterator[FreePort]:
    """Gives ports for Envoy to listen on, each the test's own until it ends."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(held_port())


@pytest.fixture
def dead_port() -> Iterator[int]:
    """A port that refuses connections: bound, so that nobody else takes it, but not listening."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield int(bound.getsockname()[1])


@pytest.fixture(params=[False, True], ids=["state of the world", "incremental"])
async def either(request: pytest.FixtureRequest) -> AsyncIterator[HandmadeSystem]:
    """A site with an Envoy of either dialect."""
    async with built(request.param) as found:
        yield found


@pytest.fixture
async def site() -> AsyncIterator[HandmadeSystem]:
    """A site with an Envoy that speaks the incremental dialect."""
    async with built(True) as found:
        yield found
