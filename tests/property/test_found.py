"""What the properties found, minimised: each a history that once did not end as it must."""

from __future__ import annotations

import pytest

from intentc.model import Key
from intentc.offline.offline import Offline
from tests.property.demands import live
from tests.property.resources import NAMES, PROJECTS, SYSTEMS, Put
from tests.property.steps import Apply, ForeignList, Kill, Replace, Restart, Settle, Spoil
from tests.simulation.simulated_system import LOADED, POOL, SimulatedSystem

pytestmark = pytest.mark.anyio

PROJECT = Put("project", PROJECTS[0], {})
GROUP = Put("security_group", NAMES[0], {"security_group_entries": {"policy_rule": []}})
FOUR_BYTES = Apply(Put("global_system_config", ("default-global-system-config",), SYSTEMS[2]))


async def test_a_list_does_not_take_a_route_target_from_its_owner() -> None:
    """A shared and an owned claim on one object were a dispute, and the owner had no route target at all."""
    lists = {"export_route_target_list": {"route_target": ["target:64512:8000103"]}}
    await live([PROJECT, Put("virtual_network", NAMES[0], lists)], [Settle()])


async def test_a_foreign_list_of_a_replaced_group_gives_way_to_the_new_groups_list() -> None:
    """An adopted list kept its parent, which was gone."""
    await live([PROJECT, GROUP], [ForeignList(1, "ingress"), Replace(GROUP)])


async def test_objects_that_wait_for_a_held_intent_wait_without_a_loop() -> None:
    """A route target that could not go yet and the instance that could not let go of it planned each other for ever."""
    await live([], [Settle(), Spoil("project", 2, b""), Restart(settle=False), FOUR_BYTES, Settle()])


async def test_a_route_target_that_only_a_users_router_keeps_reaches_its_instances() -> None:
    """It was taken for one that is about to go, although the router's reference keeps it from going."""
    network, other = NAMES[:2]
    port = Put(
        "virtual_machine_interface", other, {"parent_type": "project", "virtual_network_refs": [{"to": list(other)}]}
    )
    listed = Put("virtual_network", network, {"route_target_list": {"route_target": ["target:1:2"]}})
    unlisted = Put("virtual_network", network, {"route_target_list": {"route_target": []}})
    fields = {"virtual_machine_interface_refs": [{"to": list(other)}], "route_target_refs": [{"to": ["target:1:2"]}]}
    begin = [PROJECT, listed, Put("virtual_network", other, {}), port]
    await live(begin, [Settle(), Apply(unlisted), Apply(Put("logical_router", other, fields))])


async def test_an_unreadable_network_takes_its_routing_instance_along_when_it_is_deleted() -> None:
    """The API server did not look for what comes with a network if it could not read the network."""
    system = SimulatedSystem()
    await system.start()
    await system.put_all([PROJECT, Put("virtual_network", NAMES[0], {})])
    await system.settle()
    uuid = await system.uuid("virtual_network", NAMES[0])
    assert uuid is not None
    await system.spoil(f"/contrail/virtual_network/{uuid}")
    assert await system.delete_key(Key("virtual_network", uuid))
    await system.settle()
    assert await system.uuid("routing_instance", (*NAMES[0], NAMES[0][-1])) is None


async def test_a_given_number_is_kept_for_its_owner_until_that_comes() -> None:
    """Offline, somebody without a given number could take the number of another."""
    name = ":".join((*NAMES[0], NAMES[0][-1]))
    offline = Offline(LOADED, given={POOL: {name: 8_000_100}})
    await offline.seed()
    names = [(PROJECT.kind, PROJECT.fq_name), ("virtual_network", NAMES[0])]
    await offline.apply([{"kind": kind, "data": {"fq_name": list(fq_name)}} for kind, fq_name in names])
    numbers = await offline.server.held(POOL, "")
    assert len(numbers) > 1
    targets = [r["fq_name"] for r in offline.outputs() if r["kind"] == "route_target"]
    assert targets == [["target:64512:8000100"]]


async def test_a_bgp_servers_fact_leaves_its_instances_allocation_request_open() -> None:
    """After a restart the fact was evaluated after the routing instance, and took its open request away."""
    network = NAMES[1]
    port = Put(
        "virtual_machine_interface",
        network,
        {"parent_type": "project", "virtual_network_refs": [{"to": list(network)}]},
    )
    fields = {"autonomous_system": 64600, "virtual_machine_interface_refs": [{"to": list(network)}]}
    begin = [PROJECT, Put("virtual_network", network, {}), port, Put("bgp_as_a_service", NAMES[0], fields)]
    for requests in range(8):
        await live(begin, [Kill(requests, after_sending=False)])
