"""A network's primary routing instance that is missing is made again (docs/contrail.md D.3)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.model import Key
from tests.support.contrail_policies import attached, policy, rule
from tests.support.contrail_services import create_network, create_service, create_template
from tests.support.contrail_system import ContrailSystem, fq_name
from tests.support.memory_system import Document

pytestmark = pytest.mark.anyio

KIND = "routing_instance"


async def linked_networks(system: ContrailSystem) -> None:
    """vn1 and vn2 with one policy; vn1 has a list and a route, too."""
    await system.create("network_policy", "blue:p", network_policy_entries=policy(rule("vn1", "vn2")))
    fields: dict[str, Document] = {
        "vn1": {"fabric_snat": True, "route_target_list": {"route_target": ["target:7:7"]}},
        "vn2": {},
    }
    for name, more in fields.items():
        await system.create("virtual_network", f"blue:{name}", network_policy_refs=attached("p"), **more)


async def instance(system: ContrailSystem, network: str = "vn1") -> Document:
    return (await system.stored(KIND))[f"default-domain:blue:{network}:{network}"]


async def delete_from_etcd(system: ContrailSystem, network: str = "vn1") -> Document:
    """Delete the primary instance behind the API server's back; the instance as it was."""
    found = await instance(system, network)
    await system.put(Key(KIND, found["uuid"]), None)
    return found


def content(found: Document) -> Document:
    """What the server or the compiler gives an instance, apart from uuids and the number of its own target."""
    links = [entry["to"] for entry in found.get("routing_instance_refs") or ()]
    targets = sorted(entry["to"] for entry in found["route_target_refs"])
    fields = ("fq_name", "parent_type", "parent_uuid", "routing_instance_is_default", "routing_instance_fabric_snat")
    return {"links": links, "count": len(targets), "last": targets[-1], **{f: found.get(f) for f in fields}}


async def writes_of_another_start(system: ContrailSystem) -> list[Any]:
    return list((await system.restart()).write.written)


@pytest.mark.also_live
async def test_the_servers_own_is_adopted_without_a_write(system: ContrailSystem) -> None:
    await linked_networks(system)
    found = await instance(system)
    assert found["uuid"] not in {key.uuid for key in await system.owned()}
    await system.check()
    assert await writes_of_another_start(system) == []
    assert (await instance(system)) == found


@pytest.mark.also_live
async def test_one_that_is_deleted_while_the_compiler_runs_is_back_with_all_that_it_had(system: ContrailSystem) -> None:
    await linked_networks(system)
    before = await delete_from_etcd(system)
    after = await instance(system)
    assert after["uuid"] != before["uuid"]
    assert content(after) == content(before)
    assert [entry["uuid"] for entry in (await instance(system, "vn2"))["routing_instance_refs"]] == [after["uuid"]]
    await system.check()
    assert await writes_of_another_start(system) == []


@pytest.mark.also_live
async def test_one_that_is_deleted_while_nothing_runs_is_back_after_the_next_start(system: ContrailSystem) -> None:
    await linked_networks(system)
    system.stop()
    before = await delete_from_etcd(system)
    later = await system.restart()
    assert content(await instance(later)) == content(before)
    await later.check()
    assert await writes_of_another_start(later) == []


@pytest.mark.also_live
async def test_one_that_the_compiler_made_is_made_again_under_its_uuid(system: ContrailSystem) -> None:
    await linked_networks(system)
    await delete_from_etcd(system)
    before = await delete_from_etcd(system)
    after = await instance(system)
    assert (after["uuid"], content(after)) == (before["uuid"], content(before))
    await system.check()


@pytest.mark.also_live
async def test_one_that_the_compiler_made_is_deleted_with_its_network(system: ContrailSystem) -> None:
    before = set(await system.owned())
    await linked_networks(system)
    await delete_from_etcd(system)
    for name in ("vn1", "vn2"):
        await system.remove("virtual_network", f"blue:{name}")
    await system.remove("network_policy", "blue:p")
    assert not [name for name in await system.stored(KIND) if ":blue:" in name]
    assert set(await system.owned()) == before
    await system.check()


@pytest.mark.also_live
async def test_one_that_the_compiler_made_is_deleted_after_its_network_was_deleted_from_etcd(
    system: ContrailSystem,
) -> None:
    await linked_networks(system)
    await delete_from_etcd(system)
    network = (await system.stored("virtual_network"))["default-domain:blue:vn1"]
    await system.put(Key("virtual_network", network["uuid"]), None)
    assert [name for name in await system.stored(KIND) if ":blue:" in name] == ["default-domain:blue:vn2:vn2"]
    await system.check()
    assert await writes_of_another_start(system) == []


@pytest.mark.also_live
async def test_one_that_the_compiler_made_follows_the_networks_fabric_snat(system: ContrailSystem) -> None:
    await linked_networks(system)
    await delete_from_etcd(system)
    await system.change("virtual_network", "blue:vn1", fabric_snat=False)
    assert not (await instance(system)).get("routing_instance_fabric_snat")
    await system.check()
    await system.change("virtual_network", "blue:vn1", fabric_snat=True)
    assert (await instance(system))["routing_instance_fabric_snat"] is True
    await system.check()
    assert await writes_of_another_start(system) == []


@pytest.mark.also_live
async def test_new_ports_refer_to_one_that_the_compiler_made(system: ContrailSystem) -> None:
    """The server lets a new port refer to it, also a port of a service that the compiler makes; both stay."""
    for name, prefix in (("vn1", "10.0.0.0"), ("vn2", "20.0.0.0")):
        await create_network(system, name, prefix)
        await delete_from_etcd(system, name)
    await create_template(system, 1, [{"service_interface_type": "left"}, {"service_interface_type": "right"}])
    interfaces = [{"virtual_network": f"default-domain:blue:{name}"} for name in ("vn1", "vn2")]
    await create_service(system, service_instance_properties={"interface_list": interfaces})
    await system.create(
        "virtual_machine_interface",
        "blue:port",
        parent_type="project",
        virtual_network_refs=[{"to": fq_name("blue:vn1")}],
    )
    primaries = {name: (await instance(system, name))["uuid"] for name in ("vn1", "vn2")}
    ports = list((await system.stored("virtual_machine_interface")).values())
    assert len(ports) == 3
    for port in ports:
        network = port["virtual_network_refs"][0]["to"][-1]
        assert [entry["uuid"] for entry in port["routing_instance_refs"]] == [primaries[network]]
    await system.check()
    assert await writes_of_another_start(system) == []


async def test_one_of_a_network_that_cannot_be_read_is_made_again_once_it_can(system: ContrailSystem) -> None:
    """The server creates nothing below what it can't read."""
    await linked_networks(system)
    before = await instance(system)
    document = (await system.stored("virtual_network"))["default-domain:blue:vn1"]
    key = Key("virtual_network", document["uuid"])
    await system.put(key, b"{")
    await system.put(Key(KIND, before["uuid"]), None)
    assert "default-domain:blue:vn1:vn1" not in await system.stored(KIND)
    await system.put(key, document)
    assert content(await instance(system)) == content(before)
    await system.check()


async def test_the_fabrics_own_are_the_servers_alone(system: ContrailSystem) -> None:
    for name in ("ip-fabric:ip-fabric", "__link_local__:__link_local__", "ip-fabric:__default__"):
        full = f"default-domain:default-project:{name}"
        await system.put(Key(KIND, (await system.stored(KIND))[full]["uuid"]), None)
        assert full not in await system.stored(KIND)
    await system.check()


async def test_those_of_the_shipped_default_network_are_made_again(system: ContrailSystem) -> None:
    full = "default-domain:default-project:default-virtual-network:default-virtual-network"
    await system.put(Key(KIND, (await system.stored(KIND))[full]["uuid"]), None)
    assert (await system.stored(KIND))[full]["routing_instance_is_default"] is True
    await system.check()
