"""A router with an external gateway has a service that translates addresses (docs/contrail.md D.7.4, D.9, ★20)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.model import Key
from tests.support.contrail_system import ContrailSystem, fq_name

pytestmark = pytest.mark.anyio

UUID = "70000000-0000-4000-8000-000000000007"
MADE = ("virtual_network", "service_instance", "route_table")


def gateway(*names: str) -> dict[str, Any]:
    attribute = {"logical_router_virtual_network_type": "ExternalGateway"}
    return {"virtual_network_refs": [{"to": fq_name(f"blue:{name}"), "attr": attribute} for name in names]}


async def router(system: ContrailSystem, *networks: str, **fields: Any) -> None:
    await system.create("logical_router", "blue:lr", uuid=UUID, **gateway(*networks), **fields)


async def snat(system: ContrailSystem) -> list[str]:
    """What was made for gateways: the last names without the uuids."""
    found = [name.rpartition(":")[2] for kind in MADE for name in await system.stored(kind)]
    return sorted(name.partition("_")[0] for name in found if UUID in name and not name.startswith("__"))


async def service(system: ContrailSystem) -> dict[str, Any]:
    (found,) = [data for name, data in (await system.stored("service_instance")).items() if UUID in name]
    return found


@pytest.fixture
async def networks(system: ContrailSystem) -> ContrailSystem:
    for name in ("public", "other"):
        await system.create("virtual_network", f"blue:{name}", router_external=True)
    return system


async def test_service_network_and_table_come_and_go_with_the_gateway(networks: ContrailSystem) -> None:
    system = networks
    await router(system)
    before, numbers = sorted(await system.owned()), await system.numbers()
    await system.change("logical_router", "blue:lr", **gateway("public"))
    assert await snat(system) == ["rt", "snat", "snat-si-left"]
    interfaces = (await service(system))["service_instance_properties"]["interface_list"]
    assert interfaces[0] == {"virtual_network": "default-domain:blue:public"}
    await system.check()
    assert (await system.restart()).write.written == []
    name = (await service(system))["fq_name"]
    await system.change("logical_router", "blue:lr", **gateway("other"))
    interfaces = (await service(system))["service_instance_properties"]["interface_list"]
    assert interfaces[0] == {"virtual_network": "default-domain:blue:other"}
    assert (await service(system))["fq_name"] == name
    await system.change("logical_router", "blue:lr", **gateway())
    assert await snat(system) == []
    assert (sorted(await system.owned()), await system.numbers()) == (before, numbers)
    await system.check()


@pytest.mark.parametrize("meanwhile", [False, True])
async def test_a_router_that_is_deleted_leaves_nothing(networks: ContrailSystem, meanwhile: bool) -> None:
    system = networks
    before, numbers = sorted(await system.owned()), await system.numbers()
    await router(system, "public")
    if meanwhile:
        system.stop()
    await system.remove("logical_router", "blue:lr")
    if meanwhile:
        system = await system.restart()
    assert (sorted(await system.owned()), await system.numbers()) == (before, numbers)
    await system.check()


async def test_a_gateway_that_is_deleted_by_its_owner_is_let_go_first(networks: ContrailSystem) -> None:
    system = networks
    await router(system, "public")
    await system.change("logical_router", "blue:lr", **gateway())
    await system.remove("virtual_network", "blue:public")
    await system.check()


async def test_the_route_leads_to_the_services_address_with_the_routers_targets(networks: ContrailSystem) -> None:
    """docs/contrail.md ★20: nobody makes a machine of the service, so it has two of its own (D.8.10)."""
    system = networks
    configured = {"configured_route_target_list": {"route_target": ["target:1:1"]}}
    await router(system, "public", **configured)
    (left,) = [name for name in await system.stored("virtual_network") if "snat-si-left" in name]
    assert len(await system.stored("virtual_machine")) == 2
    instance = (await system.stored("routing_instance"))[f"{left}:{left.rpartition(':')[2]}"]
    (route,) = instance["static_route_entries"]["route"]
    own = (await system.stored("logical_router"))["default-domain:blue:lr"]["route_target_refs"][0]["to"][0]
    assert (route["prefix"], route["next_hop"]) == ("0.0.0.0/0", "100.64.0.4")
    assert route["route_target"] == ["target:1:1", own]
    await system.check()
    assert (await system.restart()).write.written == []
    changed = {"configured_route_target_list": {"route_target": ["target:2:2"]}}
    await system.change("logical_router", "blue:lr", **changed)
    instance = (await system.stored("routing_instance"))[f"{left}:{left.rpartition(':')[2]}"]
    assert instance["static_route_entries"]["route"][0]["route_target"] == ["target:2:2", own]
    await system.check()
    await system.change("logical_router", "blue:lr", **gateway())
    assert await snat(system) == []
    await system.check()


async def test_a_users_machine_serves_in_place_of_ours(networks: ContrailSystem) -> None:
    system = networks
    await router(system, "public")
    (left,) = [name for name in await system.stored("virtual_network") if "snat-si-left" in name]
    server = system.offline.server
    references = [{"to": (await service(system))["fq_name"]}]
    await server.create("virtual_machine", {"fq_name": ["m"], "service_instance_refs": references})
    await system.create(
        "virtual_machine_interface",
        "blue:left",
        parent_type="project",
        virtual_machine_interface_properties={"service_interface_type": "left"},
        virtual_network_refs=[{"to": left.split(":")}],
        virtual_machine_refs=[{"to": ["m"]}],
    )
    address = {
        "fq_name": ["ip"],
        "service_instance_ip": True,
        "virtual_network_refs": [{"to": left.split(":")}],
        "virtual_machine_interface_refs": [{"to": fq_name("blue:left")}],
    }
    await server.create("instance_ip", address)
    await system.settle()
    assert list(await system.stored("virtual_machine")) == ["m"]
    instance = (await system.stored("routing_instance"))[f"{left}:{left.rpartition(':')[2]}"]
    assert len(instance["static_route_entries"]["route"]) == 1
    await system.check()
    for kind, name in (("instance_ip", ["ip"]), ("virtual_machine_interface", fq_name("blue:left"))):
        await server.delete(Key(kind, await server.identify(kind, name)))
    await server.delete(Key("virtual_machine", await server.identify("virtual_machine", ["m"])))
    await system.settle()
    assert len(await system.stored("virtual_machine")) == 2
    await system.check()


async def test_a_users_table_stays_beside_ours(networks: ContrailSystem) -> None:
    system = networks
    await system.create("route_table", "blue:mine")
    await router(system, "public", route_table_refs=[{"to": fq_name("blue:mine")}])
    stored = (await system.stored("logical_router"))["default-domain:blue:lr"]
    assert len(stored["route_table_refs"]) == 2
    await system.change("logical_router", "blue:lr", **gateway())
    stored = (await system.stored("logical_router"))["default-domain:blue:lr"]
    assert [entry["to"] for entry in stored["route_table_refs"]] == [fq_name("blue:mine")]


async def test_in_vxlan_mode_there_is_no_service(networks: ContrailSystem) -> None:
    await router(networks, logical_router_type="vxlan-routing")
    assert await snat(networks) == []
    await networks.check()
