"""Fixtures of tests that run the compiler between a real etcd and a real API server; conftests import them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from intentc.loading.configuration import Configuration
from intentc.plugins import Loaded, installed
from intentc.watch.etcd import EtcdStore
from tests.support.live_system import LiveSystem, counted_world


@pytest.fixture(scope="session")
def loaded() -> Loaded:
    """The shipped compiler with its kinds and its map."""
    return installed(Configuration())


@pytest.fixture
async def bare_world(
    etcd_store: EtcdStore, loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[LiveSystem]:
    """A world whose servers the test starts itself."""
    async with counted_world(etcd_store, loaded, monkeypatch) as world:
        yield world


@pytest.fixture
async def world(bare_world: LiveSystem) -> AsyncIterator[LiveSystem]:
    """A world with an API server and its seeds, and no compiler yet."""
    async with bare_world.serving():
        yield bare_world
