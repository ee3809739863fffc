"""An API server over a memory store, with its seeds, and the few calls that nearly every test makes."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

from intentc.apiserver.api_server import ApiServer
from intentc.apiserver.errors import ApiError
from intentc.apiserver.startup import write_seeds
from intentc.loading import load_schema
from intentc.model import Key, Schema
from intentc.watch.memory import History, MemoryStore

PROJECT = ["default-domain", "default-project"]


@pytest.fixture(scope="session")
def schema() -> Schema:
    return load_schema("contrail")


@pytest.fixture
async def store() -> AsyncIterator[MemoryStore]:
    opened = MemoryStore(max_txn_ops=128)
    yield opened
    await opened.close()


class Api:
    """An ``ApiServer`` as the tests speak to it: kinds in snake_case, names below the default project."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server

    async def create(self, kind: str, below_project: str | None = None, /, **fields: Any) -> dict[str, Any]:
        """Create a resource of the default project, or one named and placed by ``fields``."""
        if below_project is not None:
            fields["fq_name"] = [*PROJECT, below_project]
        return (await self.server.create(kind, fields)).document

    async def get(self, kind: str, uuid: str) -> dict[str, Any]:
        return (await self.server.get(Key(kind, uuid))).document

    async def update(self, kind: str, uuid: str, /, **fields: Any) -> dict[str, Any]:
        return (await self.server.update(Key(kind, uuid), fields)).document

    async def delete(self, kind: str, uuid: str) -> None:
        await self.server.delete(Key(kind, uuid))

    async def exists(self, kind: str, uuid: str) -> bool:
        try:
            await self.server.get(Key(kind, uuid))
        except ApiError as error:
            assert error.status == 404
            return False
        return True

    async def by_name(self, kind: str, *fq_name: str) -> dict[str, Any]:
        return await self.get(kind, await self.server.identify(kind, fq_name))


@contextmanager
def rejected(status: int, *words: str) -> Iterator[None]:
    """The block must end in a rejection with this status, whose message holds these words."""
    with pytest.raises(ApiError) as caught:
        yield
    assert caught.value.status == status, caught.value.message
    for word in words:
        assert word in caught.value.message


async def history_of(store: MemoryStore) -> History:
    """What ``store`` holds now, to fill other stores with it: tests share what takes long to write."""
    found = await store.range("\0", "\U0010ffff")
    return History.of(found.items, found.revision)


@pytest.fixture(scope="session")
def seeded(schema: Schema) -> History:
    async def written() -> History:
        store = MemoryStore()
        await write_seeds(ApiServer(store, schema))
        return await history_of(store)

    return anyio.run(written)


@pytest.fixture
async def api(store: MemoryStore, schema: Schema, seeded: History) -> Api:
    store._history = copy.deepcopy(seeded)
    return Api(ApiServer(store, schema))
