"""The cases of BGP (docs/contrail.md E.3), made again on a real etcd and a real API server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.live_system import PROJECT, LiveSystem

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]

FABRIC = ("default-domain", "default-project", "ip-fabric", "__default__")


async def router(world: LiveSystem, name: str) -> dict[str, Any]:
    """The router whose last element is ``name``: its parameters, and the names of its peers."""
    stored = (await world.stored()).get("bgp_router", {}).values()
    (found,) = (data for data in stored if data["fq_name"][-1] == name)
    peers = sorted(entry["to"][-1] for entry in found.get("bgp_router_refs") or ())
    return {**found["bgp_router_parameters"], "peers": peers}


async def test_star_24_a_full_mesh_becomes_a_star_and_survives_a_restart(world: LiveSystem) -> None:
    parameters = {"router_type": "router", "address": "10.0.0.1", "hold_time": 30}
    async with world.compiling() as service:
        uuids = {
            name: await world.create("bgp_router", name, FABRIC, bgp_router_parameters=parameters)
            for name in ("r1", "r2", "r3")
        }
        await world.settle(service)
        assert await router(world, "r1") == {**parameters, "autonomous_system": 64512, "peers": ["r2", "r3"]}
        await world.update("bgp_router", uuids["r1"], bgp_router_parameters={**parameters, "cluster_id": 100})
        await world.settle(service)
        assert [(await router(world, name))["peers"] for name in uuids] == [["r2", "r3"], ["r1"], ["r1"]]
    before = await world.values()
    await world.compile_once()
    assert await world.values() == before
    # A user's router goes, although others refer to it: those references are the compiler's.
    await world.delete("bgp_router", uuids["r1"])
    await world.compile_once()
    assert [(await router(world, name))["peers"] for name in ("r2", "r3")] == [["r3"], ["r2"]]
    await world.assert_compiled()


async def test_star_25_a_bgp_service_with_an_interface_has_client_server_and_port(
    world: LiveSystem,
) -> None:
    subnet = {"subnet": {"ip_prefix": "10.0.0.0", "ip_prefix_len": 24}, "default_gateway": "10.0.0.254"}
    ipam = {"to": ["default-domain", "default-project", "default-network-ipam"], "attr": {"ipam_subnets": [subnet]}}
    network, port = ({"to": [*PROJECT, name]} for name in ("vn1", "p1"))
    async with world.compiling() as service:
        await world.create("virtual_network", "vn1", network_ipam_refs=[ipam])
        await world.create("virtual_machine_interface", "p1", parent_type="project", virtual_network_refs=[network])
        references = {"virtual_network_refs": [network], "virtual_machine_interface_refs": [port]}
        await world.create("instance_ip", "a4", (), instance_ip_address="10.0.0.52", **references)
        uuid = await world.create(
            "bgp_as_a_service", "b", autonomous_system=64600, virtual_machine_interface_refs=[port]
        )
        await world.settle(service)
        assert await router(world, "p1") == {
            "router_type": "bgpaas-client",
            "autonomous_system": 64600,
            "address": "10.0.0.52",
            "identifier": "10.0.0.52",
            "source_port": 50000,
            "gateway_address": "10.0.0.254",
            "peers": ["bgpaas-server"],
        }
        assert (await router(world, "bgpaas-server"))["peers"] == ["p1"]
        await world.assert_compiled()
    await world.update("bgp_as_a_service", uuid, virtual_machine_interface_refs=[])
    await world.compile_once()
    assert (await world.stored()).get("bgp_router", {}) == {}
    assert await world.ports() == {}
    await world.assert_compiled()
