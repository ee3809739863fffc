"""The real API server over HTTP on a real etcd: each test has a path of its own in the shared etcd."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator

import httpx2
import pytest

from intentc.apiserver.auth import Keystone, StaticRole, StaticUser
from intentc.loading import load_schema
from intentc.model import Schema
from intentc.watch.etcd import EtcdStore
from tests.support.api_server import served

_PATHS = itertools.count(1)


@pytest.fixture(scope="session")
def schema() -> Schema:
    return load_schema("contrail")


@pytest.fixture
def path() -> str:
    """``etcd.path`` of a test."""
    return f"apiserver-test-{next(_PATHS)}"


@pytest.fixture
async def client(etcd_store: EtcdStore, schema: Schema, path: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server that lets everybody in."""
    async with served(etcd_store, schema, path) as opened:
        yield opened


@pytest.fixture
async def two_clients(
    etcd_store: EtcdStore, schema: Schema, path: str
) -> AsyncIterator[tuple[httpx2.AsyncClient, httpx2.AsyncClient]]:
    """Clients of two servers on one path of one etcd."""
    async with served(etcd_store, schema, path) as one, served(etcd_store, schema, path) as other:
        yield one, other


@pytest.fixture
async def guarded(etcd_store: EtcdStore, schema: Schema, path: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server that wants tokens; users alice (admin) and bob (member)."""
    users = [
        StaticUser("alice", "Alice", lambda: "alice_password", roles=(StaticRole("admin", "admin", "admin"),)),
        StaticUser("bob", "Bob", lambda: "bob_password", roles=(StaticRole("Member", "demo", "demo"),)),
    ]
    async with served(etcd_store, schema, path, keystone=Keystone(users)) as opened:
        yield opened
