"""BGP VPNs on networks and routers as they are created, changed and removed (docs/contrail.md D.11, ★22)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.contrail_system import ContrailSystem, fq_name
from tests.support.memory_system import Document

pytestmark = pytest.mark.anyio

LISTS = {"route_target_list": "", "import_route_target_list": "import", "export_route_target_list": "export"}


def targets(*texts: str) -> Document:
    return {"route_target": list(texts)}


def to(*names: str) -> list[Document]:
    return [{"to": fq_name(f"blue:{name}")} for name in names]


async def of_instance(system: ContrailSystem, network: str) -> dict[str, str]:
    """What the primary routing instance refers to, without the targets that the compiler numbers."""
    found = await system.targets("routing_instance", f"blue:{network}:{network}")
    return {target: direction for target, direction in found.items() if not target.startswith("target:64512:")}


async def users_targets(system: ContrailSystem) -> set[str]:
    return {name for name in await system.stored("route_target") if not name.startswith("target:64512:")}


async def network(system: ContrailSystem, name: str, **fields: Any) -> None:
    await system.create("virtual_network", f"blue:{name}", **fields)


async def router(system: ContrailSystem, name: str, *networks: str, **fields: Any) -> None:
    """A router with a port in each of ``networks``."""
    for joined in networks:
        await system.create(
            "virtual_machine_interface",
            f"blue:{name}-{joined}",
            parent_type="project",
            virtual_network_refs=to(joined),
        )
    ports = to(*(f"{name}-{joined}" for joined in networks))
    await system.create("logical_router", f"blue:{name}", virtual_machine_interface_refs=ports, **fields)


async def test_two_bgpvpns_give_a_network_all_their_targets(system: ContrailSystem) -> None:
    for number in (0, 1):
        lists: dict[str, Any] = {field: targets(f"target:{place}:{number}") for place, field in enumerate(LISTS, 1)}
        await system.create("bgpvpn", f"blue:bgpvpn{number}", **lists)
    await network(system, "vn", bgpvpn_refs=to("bgpvpn0"))
    assert await of_instance(system, "vn") == {"target:1:0": "", "target:2:0": "import", "target:3:0": "export"}
    await system.change("virtual_network", "blue:vn", bgpvpn_refs=to("bgpvpn0", "bgpvpn1"))
    assert await of_instance(system, "vn") == {
        f"target:{place}:{number}": direction for number in (0, 1) for place, direction in enumerate(LISTS.values(), 1)
    }
    await system.change("virtual_network", "blue:vn", bgpvpn_refs=to("bgpvpn1"))
    assert set(await of_instance(system, "vn")) == {"target:1:1", "target:2:1", "target:3:1"}
    assert await users_targets(system) == {"target:1:1", "target:2:1", "target:3:1"}


async def test_a_target_is_deleted_with_the_last_network_of_its_bgpvpn(system: ContrailSystem) -> None:
    await system.create("bgpvpn", "blue:bgpvpn", route_target_list=targets("target:200:1"))
    await network(system, "vn1", bgpvpn_refs=to("bgpvpn"))
    await network(system, "vn2", bgpvpn_refs=to("bgpvpn"))
    await system.remove("virtual_network", "blue:vn2")
    assert await of_instance(system, "vn1") == {"target:200:1": ""}
    await system.remove("virtual_network", "blue:vn1")
    assert await users_targets(system) == set()


@pytest.mark.parametrize("holder", ["network", "router"])
@pytest.mark.parametrize(("field", "direction"), LISTS.items())
async def test_a_target_follows_its_list(system: ContrailSystem, holder: str, field: str, direction: str) -> None:
    """Set and unset again, on a network or on the networks of a router."""
    await system.create("bgpvpn", "blue:bgpvpn")
    refers = {"bgpvpn_refs": to("bgpvpn")}
    await network(system, "vn", **(refers if holder == "network" else {}))
    if holder == "router":
        await router(system, "lr", "vn", **refers)
    await system.change("bgpvpn", "blue:bgpvpn", **{field: targets("target:3:1")})
    assert await of_instance(system, "vn") == {"target:3:1": direction}
    await system.change("bgpvpn", "blue:bgpvpn", **{field: targets()})
    assert (await of_instance(system, "vn"), await users_targets(system)) == ({}, set())


@pytest.mark.also_live
async def test_a_target_stays_until_network_and_bgpvpn_have_both_let_go_of_it(system: ContrailSystem) -> None:
    """docs/contrail.md ★22"""
    await system.create("bgpvpn", "blue:bgpvpn", route_target_list=targets("target:4:1"))
    await network(system, "vn", route_target_list=targets("target:4:1"), bgpvpn_refs=to("bgpvpn"))
    assert await of_instance(system, "vn") == {"target:4:1": ""}
    await system.change("bgpvpn", "blue:bgpvpn", route_target_list=targets())
    assert await of_instance(system, "vn") == {"target:4:1": ""}
    await system.change("virtual_network", "blue:vn", route_target_list=targets())
    assert (await of_instance(system, "vn"), await users_targets(system)) == ({}, set())


async def test_a_target_stays_until_router_and_bgpvpn_have_both_let_go_of_it(system: ContrailSystem) -> None:
    await system.create("bgpvpn", "blue:bgpvpn", import_route_target_list=targets("target:4:1"))
    await network(system, "vn")
    await router(system, "lr", "vn", configured_route_target_list=targets("target:4:1"), bgpvpn_refs=to("bgpvpn"))
    assert await of_instance(system, "vn") == {"target:4:1": ""}
    await system.change("logical_router", "blue:lr", configured_route_target_list=targets())
    assert await of_instance(system, "vn") == {"target:4:1": "import"}
    await system.change("logical_router", "blue:lr", bgpvpn_refs=[])
    assert (await of_instance(system, "vn"), await users_targets(system)) == ({}, set())


@pytest.mark.also_live
async def test_a_router_takes_the_targets_of_its_bgpvpn_along(system: ContrailSystem) -> None:
    """They leave with the port, and with the router; the network keeps its own."""
    await system.create("bgpvpn", "blue:bgpvpn", route_target_list=targets("target:300:1"))
    await network(system, "vn1")
    await network(system, "vn2", route_target_list=targets("target:5:1"))
    await router(system, "lr", "vn1", "vn2", bgpvpn_refs=to("bgpvpn"))
    assert await of_instance(system, "vn1") == {"target:300:1": ""}
    assert await of_instance(system, "vn2") == {"target:300:1": "", "target:5:1": ""}
    await system.change("logical_router", "blue:lr", virtual_machine_interface_refs=to("lr-vn2"))
    assert await of_instance(system, "vn1") == {}
    await system.remove("logical_router", "blue:lr")
    assert await of_instance(system, "vn2") == {"target:5:1": ""}
    assert await users_targets(system) == {"target:5:1"}


async def test_a_restart_in_the_midst_writes_nothing_and_what_changed_meanwhile_follows(system: ContrailSystem) -> None:
    await system.create("bgpvpn", "blue:bgpvpn", route_target_list=targets("target:6:1"))
    await network(system, "vn", bgpvpn_refs=to("bgpvpn"))
    await router(system, "lr", "vn", bgpvpn_refs=[])
    system = await system.restart()
    assert system.write.written == []
    system.stop()
    await system.change("bgpvpn", "blue:bgpvpn", route_target_list=targets("target:6:2"))
    system = await system.restart()
    assert await of_instance(system, "vn") == {"target:6:2": ""}
    assert await users_targets(system) == {"target:6:2"}
