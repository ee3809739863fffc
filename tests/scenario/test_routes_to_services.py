"""Static routes that lead to services, as tables, routers and services come and go (docs/contrail.md D.9, ★20)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from itertools import permutations
from typing import Any

import pytest

from intentc.model import Key
from tests.support.contrail_system import ContrailSystem, fq_name

pytestmark = pytest.mark.anyio

Make = Callable[[ContrailSystem], Coroutine[Any, Any, Any]]


async def service(system: ContrailSystem) -> None:
    """``nat``, whose left network is ``vn``."""
    properties = {"service_mode": "in-network-nat", "version": 2}
    properties["interface_type"] = [{"service_interface_type": "left"}]
    await system.create("service_template", "nat", service_template_properties=properties)
    await system.create(
        "service_instance",
        "blue:nat",
        service_template_refs=[{"to": fq_name("nat")}],
        service_instance_properties={"interface_list": [{"virtual_network": "default-domain:blue:vn"}]},
    )


async def port(system: ContrailSystem) -> None:
    """Its left port, on a machine."""
    references = [{"to": fq_name("blue:nat")}]
    await system.offline.server.create("virtual_machine", {"fq_name": ["m"], "service_instance_refs": references})
    await system.create(
        "virtual_machine_interface",
        "blue:left",
        parent_type="project",
        virtual_machine_interface_properties={"service_interface_type": "left"},
        virtual_network_refs=[{"to": fq_name("blue:vn")}],
        virtual_machine_refs=[{"to": ["m"]}],
    )


async def address(system: ContrailSystem) -> None:
    references = [{"to": fq_name("blue:left")}]
    fields: dict[str, Any] = {"instance_ip_address": "100.64.0.4", "service_instance_ip": True}
    server = system.offline.server
    await server.create("instance_ip", {"fq_name": ["ip"], **fields, "virtual_machine_interface_refs": references})
    await system.settle()


async def table(system: ContrailSystem) -> None:
    route = {"prefix": "0.0.0.0/0", "next_hop": "default-domain:blue:nat"}
    await system.create("route_table", "blue:rt", routes={"route": [route]})


async def network(system: ContrailSystem) -> None:
    await system.create("virtual_network", "blue:vn")


async def router(system: ContrailSystem) -> None:
    await system.create("logical_router", "blue:r", **attached("rt"), **configured("target:1:1"))


def attached(*tables: str) -> dict[str, Any]:
    return {"route_table_refs": [{"to": fq_name(f"blue:{name}")} for name in tables]}


def configured(*targets: str) -> dict[str, Any]:
    return {"configured_route_target_list": {"route_target": list(targets)}}


async def routes(system: ContrailSystem) -> list[tuple[str, str, list[str]]]:
    """(prefix, next hop, targets) on the primary instance of ``vn``."""
    instance = (await system.stored("routing_instance"))["default-domain:blue:vn:vn"]
    entries = (instance.get("static_route_entries") or {}).get("route") or []
    return [(entry["prefix"], entry["next_hop"], entry["route_target"]) for entry in entries]


async def imported(system: ContrailSystem) -> list[str]:
    instance = (await system.stored("routing_instance"))["default-domain:blue:vn:vn"]
    entries = instance.get("route_target_refs") or []
    return sorted(entry["to"][0] for entry in entries if (entry.get("attr") or {}).get("import_export") == "import")


async def own_target(system: ContrailSystem, name: str = "r") -> str:
    (entry,) = (await system.stored("logical_router"))[f"default-domain:blue:{name}"]["route_target_refs"]
    return str(entry["to"][0])


async def everything(system: ContrailSystem) -> None:
    for make in (network, service, port, address, table, router):
        await make(system)


ORDERS: list[tuple[Make, ...]] = [
    order for order in permutations((network, service, table, router)) if order.index(table) < order.index(router)
]
"""A router is rejected before its table."""


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: "-".join(make.__name__ for make in order))
async def test_a_route_is_the_same_in_any_order_of_arrival(system: ContrailSystem, order: tuple[Make, ...]) -> None:
    arrivals = list(order)
    last = max(arrivals.index(network), arrivals.index(service))
    for make in (*arrivals[: last + 1], port, address, *arrivals[last + 1 :]):
        await make(system)
    targets = ["target:1:1", await own_target(system)]
    assert await routes(system) == [("0.0.0.0/0", "100.64.0.4", targets)]
    assert await imported(system) == targets
    await system.check()
    assert (await system.restart()).write.written == []


async def test_targets_follow_the_lists_of_all_routers_of_the_table(system: ContrailSystem) -> None:
    await everything(system)
    await system.change("logical_router", "blue:r", **configured("target:2:2"))
    assert await imported(system) == ["target:2:2", await own_target(system)]
    assert "target:1:1" not in await system.stored("route_target")
    await system.create("logical_router", "blue:other", **attached("rt"))
    both = sorted(["target:2:2", await own_target(system), await own_target(system, "other")])
    assert (await imported(system), (await routes(system))[0][2]) == (both, both)
    await system.remove("logical_router", "blue:r")
    assert await imported(system) == [await own_target(system, "other")]
    await system.check()


async def detach(system: ContrailSystem) -> None:
    await system.change("logical_router", "blue:r", **attached())


async def remove_router(system: ContrailSystem) -> None:
    await system.remove("logical_router", "blue:r")


async def empty_table(system: ContrailSystem) -> None:
    await system.change("route_table", "blue:rt", routes=None)


async def by_address(system: ContrailSystem) -> None:
    route = {"prefix": "0.0.0.0/0", "next_hop": "default-domain:blue:nat", "next_hop_type": "ip-address"}
    await system.change("route_table", "blue:rt", routes={"route": [route]})


async def remove_address(system: ContrailSystem) -> None:
    server = system.offline.server
    await server.delete(Key("instance_ip", await server.identify("instance_ip", ["ip"])))
    await system.settle()


async def other_mode(system: ContrailSystem) -> None:
    properties = {"service_mode": "in-network", "interface_type": [{"service_interface_type": "left"}]}
    await system.change("service_template", "nat", service_template_properties=properties)


async def other_network(system: ContrailSystem) -> None:
    interfaces = [{"virtual_network": "default-domain:blue:elsewhere"}]
    await system.change("service_instance", "blue:nat", service_instance_properties={"interface_list": interfaces})


@pytest.mark.parametrize(
    "end", [detach, remove_router, empty_table, by_address, remove_address, other_mode, other_network]
)
@pytest.mark.parametrize("meanwhile", [False, True])
async def test_a_route_goes_with_its_last_reason(system: ContrailSystem, end: Make, meanwhile: bool) -> None:
    await everything(system)
    assert len(await routes(system)) == 1
    if meanwhile:
        system.stop()
    await end(system)
    if meanwhile:
        system = await system.restart()
    assert (await routes(system), await imported(system)) == ([], [])
    await system.check()


async def test_routes_follow_a_change_of_the_autonomous_system(system: ContrailSystem) -> None:
    await everything(system)
    server = system.offline.server
    key = Key("global_system_config", await server.identify("global_system_config", ["default-global-system-config"]))
    for number in (64999, 64512):
        await server.update(key, {"autonomous_system": number})
        await system.settle()
        own = await own_target(system)
        assert own.startswith(f"target:{number}:") and await imported(system) == ["target:1:1", own]
        await system.check()
