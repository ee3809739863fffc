"""Fixtures with a real Envoy."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.envoy.live import Live, living
from tests.envoy.site import Site, built


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    """The whole chain for one test, with an Envoy at its end and nothing applied yet."""
    async with living(tmp_path) as found:
        yield found


@pytest.fixture
def dead_port() -> Iterator[int]:
    """A port that refuses connections: bound, so that nobody else takes it, but not listening."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield int(bound.getsockname()[1])


@pytest.fixture(params=[False, True], ids=["state of the world", "incremental"])
async def either(request: pytest.FixtureRequest) -> AsyncIterator[Site]:
    """A site with an Envoy of either dialect."""
    async with built(request.param) as found:
        yield found


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """A site with an Envoy that speaks the incremental dialect."""
    async with built(True) as found:
        yield found
