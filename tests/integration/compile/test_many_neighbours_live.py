"""Many neighbours on an etcd with its default limits: how many there are keeps nobody from writing (docs/adr/0034)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from intentc.dev.etcd_server import Etcd
from intentc.plugins import Loaded
from intentc.watch.etcd import EtcdStore
from tests.support.contrail_policies import policy, rule
from tests.support.live_system import LiveSystem, counted_world

pytestmark = [pytest.mark.anyio, pytest.mark.etcd]

DEFAULT_LIMIT = 128
NETWORKS = 24
"""Each network's instance has a link to all others; deleting one needed 130 operations in one transaction."""
MANY = 300


@pytest.fixture(scope="module")
def default_etcd() -> Iterator[Etcd]:
    """An etcd with its default limit of operations in a transaction."""
    server = Etcd(max_txn_ops=DEFAULT_LIMIT)
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture
async def world(default_etcd: Etcd, loaded: Loaded, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LiveSystem]:
    """A world with an API server on that etcd."""
    store = EtcdStore([default_etcd.endpoint])
    async with counted_world(store, loaded, monkeypatch) as found:
        found.max_txn_ops = DEFAULT_LIMIT
        async with found.serving():
            yield found
    await store.close()


async def many(world: LiveSystem, kind: str, count: int, **fields: Any) -> list[str]:
    """The uuids of so many new resources of the default project."""
    return [await world.create(kind, f"{kind}-{number}", **fields) for number in range(count)]


async def linked(world: LiveSystem) -> dict[str, int]:
    """Name of a primary instance → how many links it has."""
    instances = (await world.stored())["routing_instance"].values()
    return {one["name"]: len(one.get("routing_instance_refs", ())) for one in instances}


async def test_networks_that_share_a_policy_are_compiled_and_deleted(world: LiveSystem) -> None:
    shared = await world.create("network_policy", "p", network_policy_entries=policy(rule("local", "any")))
    attached = [{"uuid": shared, "attr": {"sequence": {"major": 0, "minor": 0}}}]
    async with world.compiling() as service:
        networks = await many(world, "virtual_network", NETWORKS, network_policy_refs=attached)
        await world.settle(service)
        assert (await linked(world))["virtual_network-0"] == NETWORKS - 1
        await world.assert_compiled()
        await world.delete("virtual_network", networks[0])
        await world.settle(service)
        assert (await linked(world))["virtual_network-1"] == NETWORKS - 2
        await world.assert_compiled()
        for network in networks[1:]:
            await world.delete("virtual_network", network)
        await world.settle(service)
        await world.assert_compiled()
    assert not [name for name in await linked(world) if name.startswith("virtual_network-")]


async def test_a_network_with_300_policies_is_created_compiled_changed_and_deleted(world: LiveSystem) -> None:
    policies = await many(world, "network_policy", MANY, network_policy_entries=policy(rule("any", "any")))
    sequence = {"sequence": {"major": 0, "minor": 0}}
    attached = [{"uuid": uuid, "attr": sequence} for uuid in policies]
    async with world.compiling() as service:
        network = await world.create("virtual_network", "n", network_policy_refs=attached)
        await world.settle(service)
        await world.assert_compiled()
        await world.update("virtual_network", network, network_policy_refs=attached[:1])
        await world.delete("network_policy", policies[-1])
        await world.update("virtual_network", network, network_policy_refs=attached[:-1])
        await world.delete("virtual_network", network)
        await world.settle(service)
        await world.assert_compiled()


async def test_a_port_with_300_groups_is_created_and_deleted(world: LiveSystem) -> None:
    groups = await many(world, "security_group", MANY)
    network = await world.create("virtual_network", "of-the-port")
    references: dict[str, Any] = {
        "virtual_network_refs": [{"uuid": network}],
        "security_group_refs": [{"uuid": g} for g in groups],
    }
    port = await world.create("virtual_machine_interface", "port", parent_type="project", **references)
    await world.delete("virtual_machine_interface", port)
    await world.delete("security_group", groups[0])
