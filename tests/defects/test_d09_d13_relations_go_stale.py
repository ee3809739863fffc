"""What the Go ancestor leaves stale: D9 it walks the state after a change only, D10 it removes the edges of the new
resource instead of the old one's, D11 a repeated event makes another object, D12 deletes of most kinds clean nothing,
D13 a child that comes before its parent is never linked."""

from __future__ import annotations

import uuid as uuid_module

import pytest

from intentc.model import Key
from intentc.watch.protocol import Put
from tests.defects.tenancy import PROJECT, Tenancy, foot, targets, to
from tests.oracle.contrail import mark

pytestmark = pytest.mark.anyio


async def router_over(tenancy: Tenancy, *networks: str) -> str:
    """Networks with a foot each, and a router on the first one; the router's uuid."""
    for name in networks:
        await tenancy.create("virtual_network", name)
        await foot(tenancy, f"foot-{name}", name)
    return await tenancy.create("logical_router", "router", virtual_machine_interface_refs=to(f"foot-{networks[0]}"))


async def own_target(tenancy: Tenancy, router: str) -> str:
    numbers = await tenancy.numbers()
    return next(f"target:64512:{number}" for owner, number in numbers.items() if router in owner)


async def test_d9_a_former_neighbour_is_looked_at_again_when_a_reference_goes(tenancy: Tenancy) -> None:
    router = await router_over(tenancy, "one", "two")
    own = await own_target(tenancy, router)
    assert own in await tenancy.targets("one")
    assert own not in await tenancy.targets("two")
    await tenancy.update("logical_router", router, virtual_machine_interface_refs=to("foot-two"))
    assert own not in await tenancy.targets("one")
    assert own in await tenancy.targets("two")
    await tenancy.check()


async def test_d9_a_former_neighbour_is_looked_at_again_when_its_holder_is_deleted(tenancy: Tenancy) -> None:
    router = await router_over(tenancy, "one")
    own = await own_target(tenancy, router)
    await tenancy.delete("logical_router", router)
    assert own not in await tenancy.targets("one")
    await tenancy.check()


async def test_d10_an_update_leaves_no_edge_to_a_former_neighbour(tenancy: Tenancy) -> None:
    router = await router_over(tenancy, "one", "two")
    former = await tenancy.key("virtual_machine_interface", *PROJECT, "foot-one")
    graph = tenancy.engine.parts.logic.cache.graph
    assert Key("logical_router", router) in graph.related(former, "logical_router")
    await tenancy.update("logical_router", router, virtual_machine_interface_refs=to("foot-two"))
    assert Key("logical_router", router) not in graph.related(former, "logical_router")

    runs = tenancy.engine.evaluator.runs
    written = len(tenancy.write.written)
    await tenancy.update("virtual_machine_interface", former.uuid, display_name="nobody's")
    assert len(tenancy.write.written) == written
    assert tenancy.engine.evaluator.runs - runs <= 1


async def test_d11_an_event_that_comes_again_makes_no_other_object(tenancy: Tenancy) -> None:
    router = await tenancy.create("logical_router", "router")
    numbers, written = await tenancy.numbers(), len(tenancy.write.written)
    made = [t for t in (await tenancy.world())["route_target"].values() if (mark(t) or ["", "", ""])[2] == router]
    assert len(made) == 1
    revision = tenancy.engine.parts.logic.revision
    key = f"/contrail/logical_router/{router}"
    (item,) = (await tenancy.store.range(key)).items
    await tenancy.store.transaction((), [Put(key, item.value)])
    await tenancy.settle()
    assert tenancy.engine.parts.logic.revision > revision
    await tenancy.restart()
    assert await tenancy.numbers() == numbers
    assert written > 0 and tenancy.write.written == []
    await tenancy.check()


async def test_d12_a_delete_of_any_kind_cleans_up_what_followed_from_it(tenancy: Tenancy) -> None:
    empty, numbers = await tenancy.world(), await tenancy.numbers()
    router = await router_over(tenancy, "one", "two")
    group = await tenancy.create("security_group", "group")
    network = await tenancy.key("virtual_network", *PROJECT, "two")
    await tenancy.update("virtual_network", network.uuid, route_target_list=targets("target:9:9"))
    feet = [(await tenancy.key("virtual_machine_interface", *PROJECT, f"foot-{name}")).uuid for name in ("one", "two")]
    networks = [(await tenancy.key("virtual_network", *PROJECT, name)).uuid for name in ("one", "two")]
    gone = [("logical_router", router), ("security_group", group)]
    gone += [("virtual_machine_interface", uuid) for uuid in feet] + [("virtual_network", uuid) for uuid in networks]
    for kind, uuid in gone:
        await tenancy.delete(kind, uuid)
        await tenancy.check()
    left = await tenancy.world()
    assert {kind: found.keys() for kind, found in left.items() if found} == {
        kind: found.keys() for kind, found in empty.items() if found
    }
    assert await tenancy.numbers() == numbers


async def test_d13_a_child_that_comes_before_its_parent_is_linked_when_that_comes(tenancy: Tenancy) -> None:
    """Router, interface, network: each before what it refers to."""
    uuids = {name: str(uuid_module.uuid4()) for name in ("router", "interface", "network")}
    project = (await tenancy.key("project", *PROJECT)).uuid
    below = {"parent_type": "project", "parent_uuid": project}
    foot_of_router = [{"uuid": uuids["interface"], "to": [*PROJECT, "interface"]}]
    in_network = [{"uuid": uuids["network"], "to": [*PROJECT, "network"]}]
    await tenancy.put_raw(
        "logical_router", uuids["router"], fq_name=[*PROJECT, "router"],
        virtual_machine_interface_refs=foot_of_router, **below,
    )  # fmt: skip
    await tenancy.put_raw(
        "virtual_machine_interface", uuids["interface"], fq_name=[*PROJECT, "interface"],
        virtual_network_refs=in_network, **below,
    )  # fmt: skip
    graph = tenancy.engine.parts.logic.cache.graph
    assert len(list(graph.pending())) == 1
    await tenancy.create("virtual_network", "network", uuid=uuids["network"])
    assert list(graph.pending()) == []
    assert await own_target(tenancy, uuids["router"]) in await tenancy.targets("network")
    await tenancy.check()
