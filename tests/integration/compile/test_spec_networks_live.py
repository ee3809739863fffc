"""The cases of networks and routers (docs/contrail.md E.3), made again on a real etcd and a real API server."""

from __future__ import annotations

import anyio
import pytest

from intentc.loading.paths import reactions_file
from intentc.logic.dependencies import DependencyProcessor
from intentc.logic.dependencies.reactions import load
from intentc.model import Key
from tests.support.contrail_content import feet, instance_targets, interface, network, own_target, targets
from tests.support.live_system import PROJECT, LiveSystem

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

USERS = "target:65000:1"


async def test_star_1_a_walk_from_a_network_reaches_the_networks_on_its_policies(world: LiveSystem) -> None:
    """Each policy holds the networks that refer to it together; what the walk reaches is judged on live relations."""
    async with world.compiling() as service:
        policies = [await world.create("network_policy", name) for name in ("NP1", "NP2")]
        to_both = [{"to": [*PROJECT, name], "attr": {"sequence": {"major": 0, "minor": 0}}} for name in ("NP1", "NP2")]
        one = await network(world, "VN1", network_policy_refs=to_both)
        two = await network(world, "VN2", network_policy_refs=to_both[1:])
        apart = await network(world, "VN3")
        await world.settle(service)
        neighbours = service.engine.world.neighbours
        walk = DependencyProcessor(load(reactions_file("contrail")), neighbours).walk([Key("virtual_network", one)])
    expected = {Key("virtual_network", one), Key("virtual_network", two)}
    expected |= {Key("network_policy", uuid) for uuid in policies}
    assert expected <= walk.keys()
    assert Key("virtual_network", apart) not in walk
    assert walk[Key("virtual_network", two)] == (
        Key("virtual_network", one),
        Key("network_policy", policies[1]),
        Key("virtual_network", two),
    )


async def test_star_3_a_primary_instance_gets_a_route_target_with_the_lowest_number(world: LiveSystem) -> None:
    async with world.compiling() as service:
        await network(world, "vn-blue")
        await world.settle(service)
    stored = await world.stored()
    own = await own_target(world, "routing_instance", *PROJECT, "vn-blue", "vn-blue")
    made = next(t for t in stored["route_target"].values() if t["fq_name"] == [own])
    instance = next(r for r in stored["routing_instance"].values() if r["fq_name"][-1] == "vn-blue")
    assert made["display_name"] == own
    assert min((await world.numbers()).values()) == 8000100
    assert [(entry["to"], entry.get("attr") or None) for entry in instance["route_target_refs"]] == [([own], None)]
    for special in (("ip-fabric", "__default__"), ("__link_local__", "__link_local__")):
        assert await world.targets("routing_instance", *PROJECT, *special) == {}


async def test_star_4_a_router_gets_a_route_target_that_goes_onto_its_networks(world: LiveSystem) -> None:
    async with world.compiling() as service:
        await network(world, "v")
        await interface(world, "i", "v")
        await world.create("logical_router", "bare")
        await world.create("logical_router", "joined", virtual_machine_interface_refs=feet("i"))
        await world.settle(service)
        bare = await own_target(world, "logical_router", *PROJECT, "bare")
        joined = await own_target(world, "logical_router", *PROJECT, "joined")
    assert await world.targets("logical_router", *PROJECT, "bare") == {bare: ""}
    assert await world.targets("logical_router", *PROJECT, "joined") == {joined: ""}
    found = await instance_targets(world, "v")
    assert found[joined] == "" and bare not in found and len(found) == 2
    await world.assert_compiled()


async def test_star_4_a_users_own_route_target_on_a_router_is_respected(world: LiveSystem) -> None:
    """Given at the start it takes the place of an own one; no number is allocated, and the user's stays."""
    async with world.compiling() as service:
        await network(world, "v")
        await interface(world, "i", "v")
        await world.create("route_target", USERS, ())
        before = await world.numbers()
        router = await world.create(
            "logical_router", "r", virtual_machine_interface_refs=feet("i"), route_target_refs=[{"to": [USERS]}]
        )
        await world.settle(service)
        numbers = await world.numbers()
        assert not any(router in owner for owner in numbers)
        assert before.items() <= numbers.items()
        assert await world.targets("logical_router", *PROJECT, "r") == {USERS: ""}
        assert (await instance_targets(world, "v"))[USERS] == ""

        await world.delete("logical_router", router)
        await world.settle(service)
    assert USERS not in await instance_targets(world, "v")
    assert [USERS] in [t["fq_name"] for t in (await world.stored())["route_target"].values()]
    await world.assert_compiled()


async def test_a_users_later_route_target_replaces_the_routers_own(world: LiveSystem) -> None:
    async with world.compiling() as service:
        await network(world, "v")
        await interface(world, "i", "v")
        router = await world.create("logical_router", "r", virtual_machine_interface_refs=feet("i"))
        await world.settle(service)
        own = await own_target(world, "logical_router", *PROJECT, "r")

        target = await world.create("route_target", USERS, ())
        await world.refer("ADD", "logical_router", router, "route_target", target)
        await world.settle(service)
        assert await world.targets("logical_router", *PROJECT, "r") == {USERS: ""}
        assert own not in await instance_targets(world, "v")
        assert not any(router in owner for owner in await world.numbers())

        await world.refer("DELETE", "logical_router", router, "route_target", target)
        await world.settle(service)
        own = await own_target(world, "logical_router", *PROJECT, "r")
        assert await world.targets("logical_router", *PROJECT, "r") == {own: ""}
        assert (await instance_targets(world, "v"))[own] == ""
    await world.assert_compiled()


async def test_star_4_vxlan_routing_keeps_a_router_off_its_networks(world: LiveSystem) -> None:
    """The flag of a project can only change while it has no routers (docs/contrail.md B.7); so the router comes after
    it."""
    shop = ("default-domain", "shop")
    async with world.compiling() as service:
        await world.create("project", "shop", ("default-domain",), vxlan_routing=True)
        await world.create("virtual_network", "v", shop)
        await world.create(
            "virtual_machine_interface", "i", shop, parent_type="project", virtual_network_refs=[{"to": [*shop, "v"]}]
        )
        await world.create(
            "logical_router",
            "r",
            shop,
            virtual_machine_interface_refs=[{"to": [*shop, "i"]}],
            configured_route_target_list=targets("target:7:7"),
        )
        await world.settle(service)
        own = await own_target(world, "logical_router", *shop, "r")
    assert await world.targets("logical_router", *shop, "r") == {own: ""}
    on_network = await world.targets("routing_instance", *shop, "v", "v")
    assert own not in on_network and "target:7:7" not in on_network and len(on_network) == 1


async def test_star_9_a_router_joins_two_networks_by_one_route_target(world: LiveSystem) -> None:
    async with world.compiling() as service:
        for number, prefix in ((1, "13.32.0.0"), (2, "14.32.0.0")):
            subnet = {"subnet": {"ip_prefix": prefix, "ip_prefix_len": 12}}
            ipam = {"to": [*PROJECT, "default-network-ipam"], "attr": {"ipam_subnets": [subnet]}}
            await network(world, f"vn{number}", network_ipam_refs=[ipam])
            await interface(world, f"port{number}", f"vn{number}")
            await world.create(
                "instance_ip",
                f"ip{number}",
                (),
                instance_ip_address=prefix[:-1] + "3",
                virtual_network_refs=[{"to": [*PROJECT, f"vn{number}"]}],
                virtual_machine_interface_refs=feet(f"port{number}"),
            )
        await world.create("logical_router", "lr", virtual_machine_interface_refs=feet("port1", "port2"))
        await world.settle(service)
    (routers,) = await world.targets("logical_router", *PROJECT, "lr")
    one, two = await instance_targets(world, "vn1"), await instance_targets(world, "vn2")
    assert len(one) == len(two) == 2
    assert set(one) & set(two) == {routers}
    await world.assert_compiled()


async def test_star_21_a_networks_three_lists_and_back_again(world: LiveSystem) -> None:
    first = {
        "route_target_list": targets("target:1:1"),
        "export_route_target_list": targets("target:2:1"),
        "import_route_target_list": targets("target:3:1"),
    }
    async with world.compiling() as service:
        uuid = await network(world, "vn", **first)
        await world.settle(service)
        own = await own_target(world, "routing_instance", *PROJECT, "vn", "vn")
        expected = {own: "", "target:1:1": "", "target:2:1": "export", "target:3:1": "import"}
        assert await instance_targets(world, "vn") == expected

        await world.update("virtual_network", uuid, export_route_target_list=targets("target:2:1", "target:1:1"))
        await world.settle(service)
        assert await instance_targets(world, "vn") == expected
        await world.update("virtual_network", uuid, import_route_target_list=targets("target:3:1", "target:1:1"))
        await world.settle(service)
        assert await instance_targets(world, "vn") == expected

        await world.update("virtual_network", uuid, **first)
        await world.settle(service)
        assert await instance_targets(world, "vn") == expected
    await world.assert_compiled()


async def test_star_23_a_routers_configured_targets_through_its_life(world: LiveSystem) -> None:
    async with world.compiling() as service:
        await network(world, "vn1")
        await interface(world, "i", "vn1")
        router = await world.create(
            "logical_router",
            "lr",
            virtual_machine_interface_refs=feet("i"),
            configured_route_target_list=targets("target:1:1"),
        )
        await world.settle(service)
        own = await own_target(world, "logical_router", *PROJECT, "lr")
        of_network = await own_target(world, "routing_instance", *PROJECT, "vn1", "vn1")
        assert set(await instance_targets(world, "vn1")) == {of_network, own, "target:1:1"}

        await world.update("logical_router", router, configured_route_target_list=targets("target:1:1", "target:1:2"))
        await world.settle(service)
        assert set(await instance_targets(world, "vn1")) == {of_network, own, "target:1:1", "target:1:2"}

        await world.update("logical_router", router, configured_route_target_list=targets("target:1:2"))
        await world.settle(service)
        assert set(await instance_targets(world, "vn1")) == {of_network, own, "target:1:2"}

        await world.update("logical_router", router, virtual_machine_interface_refs=[])
        await world.settle(service)
        assert set(await instance_targets(world, "vn1")) == {of_network}
        assert await world.targets("logical_router", *PROJECT, "lr") == {own: ""}

        await world.delete("logical_router", router)
        await world.settle(service)
    names = [t["fq_name"][0] for t in (await world.stored())["route_target"].values()]
    assert own not in names and "target:1:2" not in names
    assert not any(router in owner for owner in await world.numbers())
    await world.assert_compiled()


async def test_another_autonomous_system_renames_every_own_route_target_and_keeps_the_numbers(
    world: LiveSystem,
) -> None:
    async with world.compiling() as service:
        await network(world, "v", route_target_list=targets("target:64512:7"))
        await interface(world, "i", "v")
        await world.create("logical_router", "r", virtual_machine_interface_refs=feet("i"))
        await world.settle(service)
        before, numbers = await instance_targets(world, "v"), await world.numbers()

        await world.update("global_system_config", "beefbeef-beef-beef-beef-beefbeef0001", autonomous_system=64999)
        await world.settle(service)
    renamed = {name.replace("64512", "64999") if name != "target:64512:7" else name for name in before}
    assert len(before) == 3
    assert set(await instance_targets(world, "v")) == renamed
    assert await world.numbers() == numbers
    await world.assert_compiled()


async def test_two_routers_and_a_network_on_one_instance_never_overwrite_each_other(world: LiveSystem) -> None:
    """All three change their lists at the same time, round after round; the instance has the union."""
    async with world.compiling() as service:
        vn = await network(world, "v", route_target_list=targets("target:9:0"))
        routers = []
        for name in ("a", "b"):
            await interface(world, f"foot-{name}", "v")
            routers.append(
                await world.create("logical_router", name, virtual_machine_interface_refs=feet(f"foot-{name}"))
            )
        await world.settle(service)
        own = set(await instance_targets(world, "v")) - {"target:9:0"}
        assert len(own) == 3
        for turn in range(1, 6):
            async with anyio.create_task_group() as group:
                group.start_soon(_change_list, world, "virtual_network", vn, f"target:9:{turn}")
                group.start_soon(_change_list, world, "logical_router", routers[0], f"target:10:{turn}")
                group.start_soon(_change_list, world, "logical_router", routers[1], f"target:11:{turn}")
        await world.settle(service)
        assert set(await instance_targets(world, "v")) == own | {"target:9:5", "target:10:5", "target:11:5"}

        await world.delete("logical_router", routers[0])
        await world.settle(service)
        left = set(await instance_targets(world, "v"))
        assert left < own | {"target:9:5", "target:11:5"} and len(left) == 4
    await world.assert_compiled()


async def _change_list(world: LiveSystem, kind: str, uuid: str, target: str) -> None:
    field = "route_target_list" if kind == "virtual_network" else "configured_route_target_list"
    await world.update(kind, uuid, **{field: targets(target)})
