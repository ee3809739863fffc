"""Real etcd servers for the tests: one shared by a whole run, and fresh ones for tests that stop or freeze theirs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from intentc.embedded import Etcd, find_binary
from intentc.watch.etcd import EtcdStore


@pytest.fixture(scope="session")
def etcd() -> Iterator[Etcd]:
    """An etcd that all tests of a run share: keep to keys of your own, and don't stop it."""
    server = Etcd(binary=find_binary())
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture
def fresh_etcd() -> Iterator[Etcd]:
    """An etcd for one test alone, empty, to be stopped, frozen and restarted at will."""
    server = Etcd(binary=find_binary())
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture
async def etcd_store(etcd: Etcd) -> AsyncIterator[EtcdStore]:
    """A store on the shared etcd."""
    store = EtcdStore([etcd.endpoint])
    yield store
    await store.close()


@pytest.fixture
async def fresh_etcd_store(fresh_etcd: Etcd) -> AsyncIterator[EtcdStore]:
    """A store on this test's own etcd; gives up a call after 2 s, since these tests stop their server."""
    store = EtcdStore([fresh_etcd.endpoint], timeout=2.0)
    yield store
    await store.close()
