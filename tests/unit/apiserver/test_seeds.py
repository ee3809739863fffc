"""The fixed objects of a new installation: written at once, or as etcd takes them, and never twice."""

from __future__ import annotations

import pytest

from intentc.apiserver.admission.well_known import OBJECTS
from intentc.apiserver.api_server import ApiServer, Call
from intentc.apiserver.authorization import Caller
from intentc.apiserver.sources import DerivedSource
from intentc.apiserver.startup import write_seeds
from intentc.model import Schema
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import KeyValue, prefix_end

pytestmark = pytest.mark.anyio

LISTED = frozenset(kind for kind, _ in OBJECTS)


def a_server(store: MemoryStore, schema: Schema, *, max_txn_ops: int = 128) -> ApiServer:
    return ApiServer(store, schema, max_txn_ops=max_txn_ops, source=DerivedSource())


async def everything(store: MemoryStore) -> tuple[KeyValue, ...]:
    return tuple((await store.range("/", prefix_end("/"))).items)


async def objects(store: MemoryStore) -> list[KeyValue]:
    return [item for item in await everything(store) if item.key.split("/")[2] in LISTED]


async def test_a_new_installation_gets_them_in_one_transaction(store: MemoryStore, schema: Schema) -> None:
    await write_seeds(a_server(store, schema))
    found = await objects(store)
    assert len(found) > len(OBJECTS)
    assert len({item.create_revision for item in found}) == 1


async def test_an_etcd_that_takes_small_transactions_gets_the_same(schema: Schema) -> None:
    small, usual = MemoryStore(max_txn_ops=40), MemoryStore()
    await write_seeds(a_server(small, schema, max_txn_ops=40))
    await write_seeds(a_server(usual, schema))
    assert len({item.create_revision for item in await objects(small)}) > 1
    assert {item.key: item.value for item in await everything(small)} == {
        item.key: item.value for item in await everything(usual)
    }


async def test_what_is_there_stays_and_what_is_missing_is_written(store: MemoryStore, schema: Schema) -> None:
    server = a_server(store, schema)
    kind, body = OBJECTS[0]
    await server.create(kind, body, call=Call(Caller(privileged=True)))
    (first,) = await objects(store)
    await write_seeds(server)
    found = {item.key: item for item in await objects(store)}
    assert found[first.key] == first
    assert len(found) > len(OBJECTS)


async def test_a_further_start_writes_nothing(store: MemoryStore, schema: Schema) -> None:
    await write_seeds(a_server(store, schema))
    before = await everything(store)
    await write_seeds(a_server(store, schema))
    assert await everything(store) == before
