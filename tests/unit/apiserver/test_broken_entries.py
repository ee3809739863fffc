"""Garbage in the keys that only API servers write, of the index and of pools: a 422 that names the key, never a 500."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.apiserver.collections import ElementUpdate
from intentc.apiserver.errors import ApiError
from intentc.apiserver.layout import Layout
from intentc.apiserver.queries import Query
from intentc.model import Key, Name
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio

INDEX = "/intentc/apiserver/contrail/"
GARBAGE = [b"\xff\xfe", b"", b"{", b"[1, 2]", b'"text"', b"null", b"[" * 5_000, b"1.5", b'["a", ["b", 1]]']


async def spoil(store: MemoryStore, garbage: bytes, *parts: str) -> list[str]:
    """Replace the values of all keys of the index below ``parts``; returns the keys."""
    keys = [item.key for part in parts for item in (await store.range(f"{INDEX}{part}/", f"{INDEX}{part}0")).items]
    assert keys
    for key in keys:
        await store.transaction([], [Put(key, garbage)])
    return keys


def calls(api: Api, network: str, policy: str) -> list[Any]:
    """A call of each sort that reads the index or a pool."""
    server = api.server
    reference = [{"to": [*PROJECT, "p"]}]
    return [
        server.get(Key("virtual_network", network)),
        server.find("virtual_network", Query(parent_fq_names=[":".join(PROJECT)], parent_type="project")),
        server.find("virtual_network", Query(fields=["routing_instances"])),
        server.identify("network_policy", [*PROJECT, "p"]),
        server.name_of(network),
        server.collections(network, ["annotations"]),
        server.update_collections(network, [ElementUpdate("annotations", "set", {"key": "k"}, "k")]),
        server.relax_reference(network, policy),
        server.update(Key("virtual_network", network), {"network_policy_refs": reference}),
        server.create("virtual_network", {"fq_name": [*PROJECT, "m"], "network_policy_refs": reference}),
        server.create("network_policy", {"fq_name": [*PROJECT, "p"]}),
        server.create("network_policy", {"fq_name": [*PROJECT, "q"], "uuid": policy}),
        server.sync([{"kind": "virtual_network", "data": {"fq_name": [*PROJECT, "o"], "uuid": network}}]),
        server.allocate("virtual_network_id", "owner"),
        server.allocate("virtual_network_id", ":".join([*PROJECT, "n"])),
        server.owner_of("virtual_network_id", 7),
        server.held("virtual_network_id", ""),
        server.free("virtual_network_id", value=7),
        server.free("virtual_network_id", owner=":".join([*PROJECT, "n"])),
        server.create_pool("virtual_network_id", 100_000, 100_001),
        server.delete(Key("virtual_network", network)),
        server.delete(Key("network_policy", policy)),
        server.drop_pool("virtual_network_id"),
    ]


@pytest.mark.parametrize("garbage", GARBAGE)
async def test_no_call_fails_over_garbage_in_the_index_or_in_pools(
    api: Api, store: MemoryStore, garbage: bytes
) -> None:
    policy = await api.create("network_policy", "p")
    network = await api.create("virtual_network", "n", network_policy_refs=[{"uuid": policy["uuid"]}])
    await spoil(store, garbage, "name", "uuid", "holds", "links", "pool", "pool-owner", "pool-value")
    for call in calls(api, network["uuid"], policy["uuid"]):
        try:
            await call
        except ApiError as error:
            assert 400 <= error.status < 500, error


@pytest.mark.parametrize(
    ("part", "call"),
    [
        ("uuid", lambda api, network: api.server.name_of(network)),
        ("holds", lambda api, network: api.get("virtual_network", network)),
        ("pool", lambda api, network: api.server.allocate("virtual_network_id", "x")),
        ("pool-owner", lambda api, network: api.server.held("virtual_network_id", "")),
    ],
)
async def test_the_message_names_the_key_and_what_to_do(api: Api, store: MemoryStore, part: str, call: Any) -> None:
    network = (await api.create("virtual_network", "n"))["uuid"]
    await api.create("virtual_machine_interface", "i", parent_type="project", virtual_network_refs=[{"uuid": network}])
    await spoil(store, b"{", part)
    with rejected(422, f"{INDEX}{part}/", "restore it, or delete the key"):
        await call(api, network)


async def test_a_uuid_that_is_no_text_is_named(api: Api, store: MemoryStore) -> None:
    await api.create("network_policy", "p")
    key = Layout("contrail").name(Name("network_policy", (*PROJECT, "p")))
    await store.transaction([], [Put(key, b"\xff")])
    with rejected(422, key):
        await api.server.identify("network_policy", [*PROJECT, "p"])
