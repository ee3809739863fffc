"""The routers of a BGP service follow its interfaces, their networks and their addresses (docs/contrail.md D.13)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.apiserver.errors import ApiError
from intentc.model import Key
from tests.support.contrail_system import ContrailSystem, fq_name

pytestmark = pytest.mark.anyio

CLIENT, SERVER = "default-domain:blue:vn1:vn1:p1", "default-domain:blue:vn1:vn1:bgpaas-server"
SUBNETS = {
    "vn1": [("10.0.0.0", 24, "10.0.0.254"), ("1000::", 16, "1000:ffff::fe")],
    "vn2": [("20.0.0.0", 24, "20.0.0.254")],
}


class Service:
    """The service ``blue:b``, networks vn1 and vn2, and the interface p1 in vn1 with two addresses."""

    def __init__(self, system: ContrailSystem) -> None:
        self.system = system

    async def begin(self) -> Service:
        for name, subnets in SUBNETS.items():
            entries = [
                {"subnet": {"ip_prefix": prefix, "ip_prefix_len": length}, "default_gateway": gateway}
                for prefix, length, gateway in subnets
            ]
            ipam = ["default-domain", "default-project", "default-network-ipam"]
            references = [{"to": ipam, "attr": {"ipam_subnets": entries}}]
            await self.system.create("virtual_network", f"blue:{name}", network_ipam_refs=references)
        await self.port("p1", "vn1")
        await self.address("p1-v6", "p1", "1000::7", instance_ip_family="v6")
        await self.address("p1-v4", "p1", "10.0.0.52")
        return self

    async def port(self, name: str, network: str) -> None:
        references = [{"to": fq_name(f"blue:{network}")}]
        await self.system.create(
            "virtual_machine_interface", f"blue:{name}", parent_type="project", virtual_network_refs=references
        )

    async def address(self, name: str, port: str, address: str, network: str = "vn1", **fields: Any) -> None:
        body = {
            "fq_name": [name],
            "instance_ip_address": address,
            "virtual_network_refs": [{"to": fq_name(f"blue:{network}")}],
            "virtual_machine_interface_refs": [{"to": fq_name(f"blue:{port}")}],
            **fields,
        }
        await self.system.offline.server.create("instance_ip", body)
        await self.system.settle()

    async def drop_address(self, name: str) -> None:
        server = self.system.offline.server
        await server.delete(Key("instance_ip", await server.identify("instance_ip", [name])))
        await self.system.settle()

    async def create(self, *ports: str, **fields: Any) -> None:
        values = {"autonomous_system": 64600, **self._refs(ports), **fields}
        await self.system.create("bgp_as_a_service", "blue:b", **values)

    async def change(self, *ports: str, **fields: Any) -> None:
        await self.system.change("bgp_as_a_service", "blue:b", **fields, **(self._refs(ports) if ports else {}))

    async def routers(self) -> dict[str, dict[str, Any]]:
        """Name of the router below ``blue`` → its parameters."""
        found = await self.system.stored("bgp_router")
        return {
            name.removeprefix("default-domain:blue:"): data["bgp_router_parameters"] for name, data in found.items()
        }

    async def client(self) -> dict[str, Any]:
        """The parameters of p1's client."""
        return (await self.routers())["vn1:vn1:p1"]

    async def links(self, kind: str, name: str) -> list[str]:
        """The names of the routers that an object refers to, by last element."""
        document = (await self.system.stored(kind))[f"default-domain:{name}"]
        return sorted(entry["to"][-1] for entry in document.get("bgp_router_refs") or ())

    async def ports(self) -> set[int]:
        allocations = await self.system.offline.local.all_allocations("default/")
        return {value for pool, _, value in allocations if pool == "bgpaas_port"}

    async def check(self) -> None:
        """The oracle agrees, and a restart writes nothing."""
        await self.system.check()
        assert (await self.system.restart()).write.written == []

    @staticmethod
    def _refs(ports: tuple[str, ...]) -> dict[str, Any]:
        return {"virtual_machine_interface_refs": [{"to": fq_name(f"blue:{port}")} for port in ports]}


@pytest.fixture
async def service(system: ContrailSystem) -> Service:
    return await Service(system).begin()


@pytest.mark.also_live
async def test_a_service_gives_its_interface_a_client_and_takes_it_away(service: Service) -> None:
    """docs/contrail.md ★25"""
    await service.create("p1")
    assert await service.routers() == {
        "vn1:vn1:bgpaas-server": {"router_type": "bgpaas-server"},
        "vn1:vn1:p1": {
            "router_type": "bgpaas-client",
            "autonomous_system": 64600,
            "address": "10.0.0.52",
            "identifier": "10.0.0.52",
            "source_port": 50000,
            "gateway_address": "10.0.0.254",
            "ipv6_gateway_address": "1000:ffff::fe",
        },
    }
    assert await service.links("bgp_router", "blue:vn1:vn1:p1") == ["bgpaas-server"]
    assert await service.links("bgp_router", "blue:vn1:vn1:bgpaas-server") == ["p1"]
    assert await service.links("virtual_machine_interface", "blue:p1") == ["p1"]
    assert await service.links("bgp_as_a_service", "blue:b") == ["p1"]
    await service.check()
    await service.change(virtual_machine_interface_refs=[])
    assert (await service.routers(), await service.ports()) == ({}, set())
    assert await service.links("virtual_machine_interface", "blue:p1") == []
    await service.change("p1")
    assert (await service.client())["source_port"] == 50000
    await service.check()


async def test_gateways_follow_the_flags_and_addresses_the_instance_ips(service: Service) -> None:
    """docs/contrail.md ★25"""
    await service.create("p1")
    await service.change(bgpaas_suppress_route_advertisement=True)
    assert {"gateway_address", "ipv6_gateway_address"}.isdisjoint(await service.client())
    await service.change(bgpaas_suppress_route_advertisement=False, bgpaas_ipv4_mapped_ipv6_nexthop=True)
    assert (await service.client())["ipv6_gateway_address"] == "::ffff:10.0.0.254"
    await service.drop_address("p1-v4")
    assert "address" not in await service.client()
    await service.address("p1-v4", "p1", "10.0.0.60")
    assert (await service.client())["address"] == "10.0.0.60"
    await service.change(bgpaas_ip_address="10.0.0.70")
    await service.drop_address("p1-v4")
    assert (await service.client())["address"] == "10.0.0.70"
    await service.check()


async def test_each_interface_has_a_client_and_all_go_with_the_service(service: Service) -> None:
    """docs/contrail.md ★25"""
    await service.create("p1")
    await service.port("p2", "vn1")
    await service.address("p2-v4", "p2", "10.0.0.61")
    await service.change("p1", "p2")
    assert await service.links("bgp_router", "blue:vn1:vn1:bgpaas-server") == ["p1", "p2"]
    assert await service.ports() == {50000, 50001}
    await service.check()
    await service.system.remove("bgp_as_a_service", "blue:b")
    assert (await service.routers(), await service.ports()) == ({}, set())
    await service.check()


async def test_references_that_somebody_removed_are_there_again(service: Service) -> None:
    """docs/contrail.md ★25"""
    await service.create("p1")
    await service.system.change("virtual_machine_interface", "blue:p1", bgp_router_refs=[])
    await service.system.change("bgp_router", "blue:vn1:vn1:p1", bgp_router_refs=[])
    assert await service.links("virtual_machine_interface", "blue:p1") == ["p1"]
    assert await service.links("bgp_router", "blue:vn1:vn1:p1") == ["bgpaas-server"]
    await service.check()


@pytest.mark.also_live
async def test_an_interface_that_moves_gets_another_client_with_a_port_of_its_own(service: Service) -> None:
    await service.create("p1")
    await service.system.change(
        "virtual_machine_interface", "blue:p1", virtual_network_refs=[{"to": fq_name("blue:vn2")}]
    )
    assert set(await service.routers()) == {"vn2:vn2:p1", "vn2:vn2:bgpaas-server"}
    assert len(await service.ports()) == 1
    await service.check()


async def test_a_shared_service_has_one_client_for_all_interfaces(service: Service) -> None:
    """bgpaas_shared (docs/contrail.md E.3)"""
    await service.create("p1", bgpaas_shared=True, bgpaas_ip_address="1.1.1.1")
    await service.port("p2", "vn1")
    await service.change("p1", "p2")
    routers = await service.routers()
    assert set(routers) == {"vn1:vn1:b", "vn1:vn1:bgpaas-server"}
    assert routers["vn1:vn1:b"]["address"] == "1.1.1.1"
    for name in ("p1", "p2"):
        assert await service.links("virtual_machine_interface", f"blue:{name}") == ["b"]
    await service.change("p2")
    assert await service.links("virtual_machine_interface", "blue:p1") == []
    assert await service.ports() == {50000}
    await service.check()


async def test_a_session_is_on_both_sides_and_changes_in_place(service: Service) -> None:
    await service.create("p1", bgpaas_session_attributes={"hold_time": 30})
    await service.change(bgpaas_session_attributes={"hold_time": 60})
    for name in (CLIENT, SERVER):
        (entry,) = (await service.system.stored("bgp_router"))[name]["bgp_router_refs"]
        assert entry["attr"] == {"session": [{"attributes": [{"hold_time": 60}]}]}
    await service.change(bgpaas_session_attributes={})
    await service.check()


async def test_the_range_of_ports_grows_with_the_settings(service: Service) -> None:
    """docs/contrail.md B.6"""
    server = service.system.offline.server
    settings = Key(
        "global_system_config", await server.identify("global_system_config", ["default-global-system-config"])
    )
    await server.update(settings, {"bgpaas_parameters": {"port_start": 60000, "port_end": 60000}})
    await service.create("p1")
    await service.port("p2", "vn1")
    await service.change("p1", "p2")
    assert await service.ports() == {60000}
    with pytest.raises(ApiError):
        await server.update(settings, {"bgpaas_parameters": {"port_start": 60001, "port_end": 60001}})
    await server.update(settings, {"bgpaas_parameters": {"port_start": 60000, "port_end": 60001}})
