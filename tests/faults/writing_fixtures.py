"""Fixtures of the scenarios on the writing side; the conftest imports them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from intentc.plugins import Loaded
from intentc.watch.etcd import EtcdStore
from tests.faults.writing_world import FaultyWorld, faulty_world


@pytest.fixture
async def faulty(etcd_store: EtcdStore, loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FaultyWorld]:
    """A world on the shared etcd whose API server misbehaves on demand."""
    async with faulty_world(etcd_store, loaded, monkeypatch) as made:
        yield made
