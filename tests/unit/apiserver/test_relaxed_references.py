"""References that don't block the deletion of their target, in the transaction that writes them
(docs/engine.md §6.6)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.apiserver.references import ReferenceUpdate
from intentc.model import Key
from intentc.watch.memory import MemoryStore

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio


async def network_and_policy(api: Api, **fields: Any) -> tuple[Key, str]:
    """The key of a network, and the uuid of a policy to which it may refer."""
    policy = await api.create("network_policy", "p")
    network = await api.create("virtual_network", "n", **fields)
    return Key("virtual_network", network["uuid"]), policy["uuid"]


async def index_keys(store: MemoryStore, target: str) -> list[str]:
    """The sort (holds, links) of each index entry that is about a target."""
    found = (await store.range("/intentc/", "/intentc0")).items
    return [
        item.key.split("/")[4] for item in found if f"/holds/{target}/" in item.key or f"/links/{target}/" in item.key
    ]


async def test_ref_update_relaxes_with_the_reference(api: Api, store: MemoryStore) -> None:
    network, policy = await network_and_policy(api)
    before = (await store.range("/")).revision
    update = ReferenceUpdate(network, "network_policy", True, policy, relaxed=True)
    assert await api.server.update_reference(update) == before + 1 == (await store.range("/")).revision
    assert await index_keys(store, policy) == ["links"]
    await api.delete("network_policy", policy)
    assert "network_policy_refs" not in await api.get("virtual_network", network.uuid)


async def test_ref_update_relaxes_a_target_that_is_given_by_name(api: Api) -> None:
    network, policy = await network_and_policy(api)
    name = (*PROJECT, "p")
    await api.server.update_reference(ReferenceUpdate(network, "network_policy", True, fq_name=name, relaxed=True))
    await api.delete("network_policy", policy)


async def test_an_update_relaxes_those_of_its_references_that_it_names(api: Api, store: MemoryStore) -> None:
    network, policy = await network_and_policy(api)
    other = (await api.create("network_policy", "q"))["uuid"]
    references = {"network_policy_refs": [{"uuid": policy}, {"uuid": other}]}
    before = (await store.range("/")).revision
    await api.server.update(network, references, relaxed=[policy])
    assert (await store.range("/")).revision == before + 1
    await api.delete("network_policy", policy)
    with rejected(409, "held by"):
        await api.delete("network_policy", other)


async def test_items_of_sync_relax_in_the_same_transaction(api: Api, store: MemoryStore) -> None:
    network, policy = await network_and_policy(api)
    made = "5b0f0000-0000-4000-8000-000000000001"
    references = {"network_policy_refs": [{"uuid": policy}]}
    before = (await store.range("/")).revision
    await api.server.sync(
        [
            {"kind": "virtual_network", "operation": "UPDATE", "data": {"uuid": network.uuid, **references}}
            | {"relaxed": [policy]},
            {"kind": "virtual_network", "data": {"uuid": made, "fq_name": [*PROJECT, "made"], **references}}
            | {"relaxed": [policy]},
        ]
    )
    assert (await store.range("/")).revision == before + 1
    assert await index_keys(store, policy) == ["links", "links"]
    await api.delete("network_policy", policy)


async def test_a_reference_that_stands_unchanged_is_relaxed_nevertheless(api: Api, store: MemoryStore) -> None:
    """So that a repeated write makes up for one that could not relax."""
    network, policy = await network_and_policy(api)
    references = {"network_policy_refs": [{"uuid": policy}]}
    await api.server.update(network, references)
    assert await index_keys(store, policy) == ["holds"]
    await api.server.update(network, references, relaxed=[policy])
    assert await index_keys(store, policy) == ["links"]
    await api.delete("network_policy", policy)


async def test_relaxing_again_writes_nothing(api: Api, store: MemoryStore) -> None:
    network, policy = await network_and_policy(api)
    update = ReferenceUpdate(network, "network_policy", True, policy, relaxed=True)
    first = await api.server.update_reference(update)
    assert await api.server.update_reference(update) == first
    await api.server.update(network, {"network_policy_refs": [{"uuid": policy}]}, relaxed=[policy])
    await api.server.relax_reference(network.uuid, policy)
    assert (await store.range("/")).revision == first


async def test_a_target_to_which_nothing_refers_is_rejected_and_nothing_written(api: Api, store: MemoryStore) -> None:
    network, policy = await network_and_policy(api)
    before = (await store.range("/")).revision
    with rejected(404, "does not refer"):
        await api.server.update(network, {"display_name": "x"}, relaxed=[policy])
    item = {"kind": "virtual_network", "operation": "UPDATE", "data": {"uuid": network.uuid}, "relaxed": [policy]}
    with rejected(404, "item 0", "does not refer"):
        await api.server.sync([item])
    assert (await store.range("/")).revision == before


@pytest.mark.parametrize("relaxed", ["x", 7, [7], {"a": 1}])
async def test_a_list_of_targets_that_is_none_is_rejected(api: Api, relaxed: Any) -> None:
    with rejected(400, "item 0", "relaxed"):
        await api.server.sync([{"kind": "project", "data": {"fq_name": ["default-domain", "x"]}, "relaxed": relaxed}])


async def test_a_deletion_has_nothing_to_relax(api: Api) -> None:
    with rejected(400, "item 0", "relax"):
        await api.server.sync([{"kind": "project", "operation": "DELETE", "data": {"uuid": "x"}, "relaxed": ["y"]}])
