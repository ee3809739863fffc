"""A network has one primary routing instance as long as it exists (docs/contrail.md B.7)."""

from __future__ import annotations

import pytest

from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Delete

from .conftest import PROJECT, Api, rejected

pytestmark = pytest.mark.anyio

KIND = "routing_instance"
FLAG = "routing_instance_is_default"


async def network_and_instance(api: Api) -> tuple[str, str]:
    """The uuids of a new network and of its primary instance."""
    network = await api.create("virtual_network", "n")
    return network["uuid"], (await api.by_name(KIND, *PROJECT, "n", "n"))["uuid"]


async def test_the_primary_instance_is_deleted_with_its_network_only(api: Api) -> None:
    network, instance = await network_and_instance(api)
    with rejected(409, "primary", "default-domain:default-project:n", "delete the network"):
        await api.delete(KIND, instance)
    with rejected(409, "item 0", "primary"):
        await api.server.sync([{"kind": KIND, "operation": "DELETE", "data": {"uuid": instance}}])
    await api.delete("virtual_network", network)
    assert not await api.exists(KIND, instance)


async def test_a_request_may_delete_both(api: Api) -> None:
    network, instance = await network_and_instance(api)
    deleted = ((KIND, instance), ("virtual_network", network))
    await api.server.sync([{"kind": kind, "operation": "DELETE", "data": {"uuid": uuid}} for kind, uuid in deleted])
    assert not await api.exists(KIND, instance)


async def test_the_one_of_a_network_that_was_deleted_from_etcd_can_be_deleted(api: Api, store: MemoryStore) -> None:
    network, instance = await network_and_instance(api)
    await store.transaction((), [Delete(f"/contrail/virtual_network/{network}")])
    await api.delete(KIND, instance)


async def test_its_flag_stays(api: Api) -> None:
    _, instance = await network_and_instance(api)
    with rejected(403, FLAG):
        await api.update(KIND, instance, **{FLAG: False})
    await api.update(KIND, instance, **{FLAG: True, "display_name": "x"})


async def test_there_is_no_second_one(api: Api) -> None:
    await network_and_instance(api)
    other = {"fq_name": [*PROJECT, "n", "other"], "parent_type": "virtual-network"}
    with rejected(403, FLAG, "one primary instance"):
        await api.create(KIND, **other, **{FLAG: True})
    made = await api.create(KIND, **other)
    with rejected(403, FLAG):
        await api.update(KIND, made["uuid"], **{FLAG: True})
    await api.delete(KIND, made["uuid"])


async def test_an_update_of_the_network_creates_one_that_was_deleted_from_etcd(api: Api, store: MemoryStore) -> None:
    network, instance = await network_and_instance(api)
    await store.transaction((), [Delete(f"/contrail/{KIND}/{instance}")])
    await api.update("virtual_network", network, display_name="x", fabric_snat=True)
    made = await api.by_name(KIND, *PROJECT, "n", "n")
    assert (made[FLAG], made["routing_instance_fabric_snat"], made["parent_uuid"]) == (True, True, network)
    await api.update("virtual_network", network, display_name="y")
    assert (await api.by_name(KIND, *PROJECT, "n", "n"))["uuid"] == made["uuid"]


async def test_one_that_was_deleted_from_etcd_can_be_created_again(api: Api, store: MemoryStore) -> None:
    _, instance = await network_and_instance(api)
    await store.transaction((), [Delete(f"/contrail/{KIND}/{instance}")])
    fields = {"fq_name": [*PROJECT, "n", "n"], "parent_type": "virtual-network", FLAG: True}
    assert (await api.create(KIND, **fields))["uuid"] != instance
