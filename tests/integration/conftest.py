"""Real etcd servers for the tests: one shared by a whole run, and fresh ones for tests that stop or freeze theirs."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from intentc.dev.etcd_server import Etcd, find_binary
from intentc.watch.etcd import EtcdStore
from intentc.watch.etcd_connections import Tls
from tests.support.certificates import write_certificate
from tests.support.programs import etcdctl


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
    """An etcd for one test alone, empty, to be stopped, frozen and restarted at will; passwords cost it next to
    nothing."""
    server = Etcd(binary=find_binary(), flags=("--bcrypt-cost=4",))
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
    """A store on this test's own etcd; gives up a call after 5 s, since these tests stop their server."""
    store = EtcdStore([fresh_etcd.endpoint], timeout=5.0)
    yield store
    await store.close()


@pytest.fixture
def dead_endpoint() -> Iterator[str]:
    """An address that refuses connections: bound, so that nobody else takes it, but not listening."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


@pytest.fixture
def etcd_with_users(fresh_etcd: Etcd) -> Etcd:
    """Root may do all, ``reader`` may read below /open/ only; both with password "secret"."""
    control = etcdctl()
    for command in (
        "user add root:secret",
        "user grant-role root root",
        "role add reader",
        "role grant-permission reader read /open/ /open0",
        "user add reader:secret",
        "user grant-role reader reader",
        "auth enable",
    ):
        subprocess.run(
            [control, "--endpoints", fresh_etcd.endpoint, *command.split()],
            check=True,
            capture_output=True,
            env={"ETCDCTL_API": "3"},
        )
    return fresh_etcd


@pytest.fixture
def certificate(tmp_path: Path) -> Tls:
    """A certificate for 127.0.0.1 that is its own authority."""
    return write_certificate(tmp_path)
