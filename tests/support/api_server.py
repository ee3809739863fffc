"""A real API server and a client of it over HTTP, for tests of any part that needs one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from intentc.apiserver.serving import running_api_server
from intentc.model import Schema
from intentc.watch.protocol import Store
from tests.support.waiting import PATIENCE

ETCD_OPERATIONS = 1024
"""What the tests' shared etcd takes in one transaction."""


@asynccontextmanager
async def served(store: Store, schema: Schema, path: str, **options: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """A server, and a client of it, until the block is left."""
    options.setdefault("max_txn_ops", ETCD_OPERATIONS)
    async with (
        running_api_server(store, schema, path=path, **options) as running,
        httpx2.AsyncClient(timeout=PATIENCE, base_url=running.url, trust_env=False) as client,
    ):
        yield client
