"""What the Go ancestor leaves stale: D9 it walks the state after a change only, D10 it removes the edges of the new
resource instead of the old one's, D11 a repeated event makes another object, D12 deletes of most kinds clean nothing,
D13 a child that comes before its parent is never linked."""

from __future__ import annotations

import uuid as uuid_module
from typing import Any

import pytest

from intentc.model import Key
from intentc.watch.protocol import Put
from tests.oracle.contrail import mark
from tests.support.contrail_system import ContrailSystem, fq_name

pytestmark = pytest.mark.anyio


def feet(*networks: str) -> dict[str, Any]:
    """A router's references to its interfaces in these networks."""
    return {"virtual_machine_interface_refs": [{"to": fq_name(f"blue:foot-{network}")} for network in networks]}


async def router_over(system: ContrailSystem, *networks: str) -> str:
    """Networks with a foot each, and a router on the first one; the router's uuid."""
    for name in networks:
        await system.create("virtual_network", f"blue:{name}")
        await system.create(
            "virtual_machine_interface",
            f"blue:foot-{name}",
            parent_type="project",
            virtual_machine_interface_device_owner="network:router_interface",
            virtual_network_refs=[{"to": fq_name(f"blue:{name}")}],
        )
    return await system.create("logical_router", "blue:router", **feet(networks[0]))


async def own_target(system: ContrailSystem, router: str) -> str:
    return f"target:64512:{(await system.numbers())[router]}"


async def targets(system: ContrailSystem, network: str) -> set[str]:
    """The route targets of a network's primary routing instance."""
    return set(await system.targets("routing_instance", f"blue:{network}:{network}"))


async def test_d9_the_deletion_of_a_reference_reevaluates_its_former_target(system: ContrailSystem) -> None:
    router = await router_over(system, "one", "two")
    own = await own_target(system, router)
    assert own in await targets(system, "one")
    assert own not in await targets(system, "two")
    await system.change("logical_router", "blue:router", **feet("two"))
    assert own not in await targets(system, "one")
    assert own in await targets(system, "two")
    await system.check()


async def test_d9_the_deletion_of_a_holder_reevaluates_its_former_neighbour(system: ContrailSystem) -> None:
    router = await router_over(system, "one")
    own = await own_target(system, router)
    await system.remove("logical_router", "blue:router")
    assert own not in await targets(system, "one")
    await system.check()


async def test_d10_an_update_leaves_no_edge_to_a_former_neighbour(system: ContrailSystem) -> None:
    router = await router_over(system, "one", "two")
    former = await system.key("virtual_machine_interface", *fq_name("blue:foot-one"))
    graph = system.engine.world.neighbours
    assert Key("logical_router", router) in graph.related(former, "logical_router")
    await system.change("logical_router", "blue:router", **feet("two"))
    assert Key("logical_router", router) not in graph.related(former, "logical_router")

    runs = system.engine.evaluator.runs
    written = len(system.write.written)
    await system.change("virtual_machine_interface", "blue:foot-one", display_name="nobody's")
    assert len(system.write.written) == written
    assert system.engine.evaluator.runs - runs <= 1


async def test_d11_an_event_that_comes_again_makes_no_other_object(system: ContrailSystem) -> None:
    router = await system.create("logical_router", "blue:router")
    numbers, written = await system.numbers(), len(system.write.written)
    made = [t for t in (await system.world())["route_target"].values() if (mark(t) or ["", "", ""])[2] == router]
    assert len(made) == 1
    revision = system.engine.revision
    key = f"/contrail/logical_router/{router}"
    (item,) = (await system.store.range(key)).items
    await system.store.transaction((), [Put(key, item.value)])
    await system.settle()
    assert system.engine.revision > revision
    again = await system.restart()
    assert await again.numbers() == numbers
    assert written > 0 and again.write.written == []
    await again.check()


async def test_d12_a_delete_of_any_kind_cleans_up_what_followed_from_it(system: ContrailSystem) -> None:
    empty, numbers = await system.world(), await system.numbers()
    await router_over(system, "one", "two")
    await system.create("security_group", "blue:group")
    await system.change("virtual_network", "blue:two", route_target_list={"route_target": ["target:9:9"]})
    for kind, *names in (
        ("logical_router", "router"),
        ("security_group", "group"),
        ("virtual_machine_interface", "foot-one", "foot-two"),
        ("virtual_network", "one", "two"),
    ):
        for name in names:
            await system.remove(kind, f"blue:{name}")
            await system.check()
    left = await system.world()
    assert {kind: found.keys() for kind, found in left.items() if found} == {
        kind: found.keys() for kind, found in empty.items() if found
    }
    assert await system.numbers() == numbers


async def test_d13_a_child_that_precedes_its_parent_is_linked_once_that_exists(system: ContrailSystem) -> None:
    """Router, interface, network: each before what it refers to."""
    router, interface, network = (str(uuid_module.uuid4()) for _ in range(3))
    project = (await system.key("project", *fq_name("blue"))).uuid

    async def put(kind: str, uuid: str, name: str, **references: Any) -> None:
        given = {"uuid": uuid, "fq_name": fq_name(f"blue:{name}"), "parent_type": "project", "parent_uuid": project}
        await system.put(Key(kind, uuid), {**given, **references})

    foot = [{"uuid": interface, "to": fq_name("blue:interface")}]
    await put("logical_router", router, "router", virtual_machine_interface_refs=foot)
    in_network = [{"uuid": network, "to": fq_name("blue:network")}]
    await put("virtual_machine_interface", interface, "interface", virtual_network_refs=in_network)
    world = system.engine.world
    assert len(list(world.cache.graph.pending())) == 1
    await system.create("virtual_network", "blue:network", uuid=network)
    assert list(world.cache.graph.pending()) == []
    assert await own_target(system, router) in await targets(system, "network")
    await system.check()
