"""The command line as people and service managers call it: processes beside a real etcd and a real API server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from intentc.dev.etcd_server import Etcd
from intentc.plugins import Loaded
from intentc.watch.etcd import EtcdStore
from tests.integration.cli.plan_files import GROUP, written
from tests.support.commands import Intentc
from tests.support.contrail_content import tenant
from tests.support.live_fixtures import bare_world, loaded, world
from tests.support.live_system import LiveSystem, counted_world

__all__ = ["bare_world", "loaded", "world"]


@pytest.fixture
def intentc(etcd: Etcd, world: LiveSystem, tmp_path: Path) -> Iterator[Intentc]:
    """Commands with a configuration file that names this test's servers; what still runs at the end is killed."""
    commands = Intentc(tmp_path, etcd.endpoint, world)
    yield commands
    commands.kill_all()


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for the tests of a module, so that they can share servers."""
    return "asyncio"


@pytest.fixture
async def compiled(world: LiveSystem) -> LiveSystem:
    """A world of more than twenty objects that a compiler has made, and no compiler at work."""
    await tenant(world)
    await world.compile_once()
    world.calls.seen.clear()
    return world


@pytest.fixture(scope="module")
async def shared(etcd: Etcd, loaded: Loaded) -> AsyncIterator[LiveSystem]:
    """As ``compiled``, one for all tests of a module."""
    store = EtcdStore([etcd.endpoint])
    with pytest.MonkeyPatch.context() as patch:
        async with counted_world(store, loaded, patch) as world, world.serving():
            patch.undo()
            await tenant(world)
            await world.compile_once()
            yield world
    await store.close()


@pytest.fixture
async def looked_at(shared: LiveSystem) -> AsyncIterator[LiveSystem]:
    """``shared``; a test that changes anything in it fails."""
    before, numbers = await shared.values(), await shared.numbers()
    shared.calls.seen.clear()
    yield shared
    assert await shared.values() == before
    assert await shared.numbers() == numbers


@pytest.fixture
def renamed(tmp_path: Path) -> Path:
    """A file that gives the third group another display name, which no compiler reads."""
    return written(tmp_path, {"fq_name": GROUP, "display_name": "the third"})
