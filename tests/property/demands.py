"""What every outcome must fulfil beside being right: numbers are owned, and a further pass is silent.

``live`` is one history from its seeds to these demands. Where histories come from is the tests' business.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.oracle import contrail_chains, contrail_routes, contrail_services
from tests.oracle.contrail import mark
from tests.oracle.contrail_chains import INFORMATION
from tests.oracle.contrail_route_targets import SPECIAL
from tests.property.resources import Put
from tests.property.steps import Step
from tests.simulation.simulated_system import INSTALLATION, POOL, PORT_POOL, VLAN_POOLS, SimulatedSystem

FIRST_NUMBER = 8_000_100
FIRST_SHORT_NUMBER = 8_000
"""How a number is written under an autonomous system of four bytes (docs/contrail.md D.1)."""


async def check_numbers(system: SimulatedSystem) -> None:
    """Owners and numbers are one to one, each number is carried by a route target of its owner, which exists, and each
    routing instance has one."""
    world, numbers = await system.world(), await system.numbers()
    assert len(set(numbers.values())) == len(numbers), f"a number has two owners: {numbers}"
    for owner, number in numbers.items():
        assert await system.server.owner_of(POOL, number) == owner
        installation, origin, purpose = owner.split("/")
        assert (installation, purpose) == (INSTALLATION, "route_target")
        exists = origin in world.get("routing_instance", {}) or origin in world.get("logical_router", {})
        carried = {
            int(target["fq_name"][0].rpartition(":")[2])
            for target in world["route_target"].values()
            if (mark(target) or ["", "", ""])[2] == origin
        }
        # An owner's route target to which a user refers stays, and its number with it, though the owner is gone.
        assert exists or carried, f"{owner} is gone, and its number {number} is still taken"
        assert carried <= {number, number - FIRST_NUMBER + FIRST_SHORT_NUMBER}
        assert carried, f"{owner} has the number {number}, and no route target that carries it"
    served = {owner.split("/")[1] for owner in numbers}
    for uuid, instance in world.get("routing_instance", {}).items():
        assert uuid in served or tuple(instance["fq_name"]) in SPECIAL, f"{instance['fq_name']} has no number"


async def check_ports(system: SimulatedSystem) -> None:
    """Ports of BGP services have one owner each, a service, and a client that carries them."""
    world = await system.world()
    ports = {held.owner: held.value for held in await system.server.held(PORT_POOL, "")}
    assert len(set(ports.values())) == len(ports), f"a port has two owners: {ports}"
    carried = [
        (router.get("bgp_router_parameters") or {}).get("source_port")
        for router in world.get("bgp_router", {}).values()
        if mark(router) is not None
    ]
    assert sorted(ports.values()) == sorted(port for port in carried if port)


async def check_vlans(system: SimulatedSystem) -> None:
    """VLANs are taken by the chains that lead through transparent services, each for one chain at its host."""
    allocations = await system.service.all_allocations(f"{INSTALLATION}/")
    vlans = [one for one in allocations if one.pool.startswith(VLAN_POOLS)]
    assert len({(one.pool, one.value) for one in vlans}) == len(vlans), f"a VLAN has two owners: {vlans}"
    wanted = contrail_chains.vlan_owners(await system.world(), INSTALLATION)
    assert sorted(one.owner for one in vlans) == sorted(wanted)


async def live(begin: Sequence[Put], history: Sequence[Step]) -> set[str]:
    """Live through a history in one system and check all that is demanded; features of the outcome."""
    system = SimulatedSystem()
    await system.start()
    await system.put_all(begin)
    for step in history:
        await step.apply(system)
    return await check_all(system)


async def check_all(system: SimulatedSystem) -> set[str]:
    """The end of a history: faults end, and everything that is demanded must hold. Features of the outcome."""
    await system.end_faults()
    await system.settle()
    await check_outcome(system)
    await check_numbers(system)
    await check_ports(system)
    await check_vlans(system)
    features = await relations_of(system)
    await check_silence(system)
    await check_repair(system)
    return features


async def check_outcome(system: SimulatedSystem) -> None:
    """What is there is what the oracle expects."""
    found, wanted = await system.outcome()
    assert found == wanted


async def check_silence(system: SimulatedSystem) -> None:
    """Another engine over the same store asks the server for nothing, and the store stands still; numbers, too."""
    before, allocations = await system.revisions(), await system.allocations()
    await system.restart()
    await system.settle()
    assert system.service.requests == 0
    assert await system.revisions() == before
    assert await system.allocations() == allocations


async def check_repair(system: SimulatedSystem) -> None:
    """The silence is not that of the dead: a deleted object is made again, and nothing else is asked for."""
    assert await system.put("security_group", ("default-domain", "default-project", "repaired"), {})
    await system.settle()
    lists = [key for key, _ in await system.owned() if key.kind == "access_control_list"]
    assert await system.delete_key(lists[0])
    asked = system.service.requests
    await system.settle()
    assert lists[0] in {key for key, _ in await system.owned()}
    assert system.service.requests == asked + 1
    await check_outcome(system)


async def relations_of(system: SimulatedSystem) -> set[str]:
    """Features of an outcome: a ``merged object`` has references from several intents; the others say what there is."""
    world = await system.world()
    own = {instance["uuid"] for instance in world["routing_instance"].values()}
    merged = any(
        len({(mark(world["route_target"][entry["uuid"]]) or ["", "", "user"])[2] for entry in entries}) > 1
        for uuid in own
        if (entries := world["routing_instance"][uuid].get("route_target_refs") or [])
    )
    chain = any(instance.get(field) for instance in world["routing_instance"].values() for field in INFORMATION)
    machines = any(mark(machine) for machine in world.get("virtual_machine", {}).values())
    ports = world.get("virtual_machine_interface", {}).values()
    attached = any(contrail_services.stored_of_services(port) for port in ports if mark(port) is None)
    checked = any(address.get("service_health_check_ip") for address in world.get("instance_ip", {}).values())
    routes = [route for instance in world["routing_instance"].values() for route in contrail_routes.stored(instance)]
    translated = any(router.get("service_instance_refs") for router in world.get("logical_router", {}).values())
    found = {
        "merged object": merged,
        "service chain": chain,
        "service machines": machines,
        "tables and checks of ports": attached,
        "address of a check": checked,
        "route to a service": any(route.get("route_target") for route in routes),
        "gateway of a router": translated,
    }
    return {name for name, is_there in found.items() if is_there}
