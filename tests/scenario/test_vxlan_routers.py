"""Routers in vxlan mode and the internal network that the API server makes for them (docs/contrail.md B.5, D.7.3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.contrail_system import ContrailSystem, fq_name
from tests.support.memory_system import Document

pytestmark = pytest.mark.anyio


def targets(*texts: str) -> Document:
    return {"route_target": list(texts)}


async def router(system: ContrailSystem, **fields: Any) -> str:
    """A router in vxlan mode with a port in the network ``vn``; the name of its internal network."""
    await system.create("virtual_network", "blue:vn")
    network = [{"to": fq_name("blue:vn")}]
    await system.create("virtual_machine_interface", "blue:port", parent_type="project", virtual_network_refs=network)
    uuid = await system.create(
        "logical_router",
        "blue:lr",
        logical_router_type="vxlan-routing",
        virtual_machine_interface_refs=[{"to": fq_name("blue:port")}],
        **fields,
    )
    return f"__contrail_lr_internal_vn_{uuid}__"


async def users_targets(system: ContrailSystem, network: str) -> dict[str, str]:
    found = await system.targets("routing_instance", f"blue:{network}:{network}")
    return {target: direction for target, direction in found.items() if not target.startswith("target:64512:")}


@pytest.mark.also_live
async def test_the_internal_network_follows_the_configured_list_and_goes_with_the_router(
    system: ContrailSystem,
) -> None:
    internal = await router(system, configured_route_target_list=targets("target:3:1"))
    assert await users_targets(system, internal) == {"target:3:1": ""}
    await system.change("logical_router", "blue:lr", configured_route_target_list=targets("target:4:1"))
    assert await users_targets(system, internal) == {"target:4:1": ""}
    await system.check()
    await system.remove("logical_router", "blue:lr")
    assert [name for name in await system.stored("routing_instance") if internal in name] == []
    await system.check()


async def test_the_networks_of_its_ports_keep_their_own_targets(system: ContrailSystem) -> None:
    before = "routing_instance", "blue:vn:vn"
    await router(system, configured_route_target_list=targets("target:1:1"))
    own = await system.targets(*before)
    assert len(own) == 1
    await system.change("logical_router", "blue:lr", configured_route_target_list=targets("target:1:1", "target:1:2"))
    assert await system.targets(*before) == own
    assert await system.stored("service_instance") == {}


@pytest.mark.parametrize("restarted", [False, True])
async def test_lists_of_its_bgpvpn_go_onto_the_internal_network(system: ContrailSystem, restarted: bool) -> None:
    await system.create("bgpvpn", "blue:vpn", import_route_target_list=targets("target:5:1"))
    internal = await router(system, bgpvpn_refs=[{"to": fq_name("blue:vpn")}])
    if restarted:
        system = await system.restart()
        assert system.write.written == []
    assert await users_targets(system, internal) == {"target:5:1": "import"}
    await system.change("bgpvpn", "blue:vpn", export_route_target_list=targets("target:5:1"))
    assert await users_targets(system, internal) == {"target:5:1": ""}
    await system.change("logical_router", "blue:lr", bgpvpn_refs=[])
    assert await users_targets(system, internal) == {}
    await system.check()
