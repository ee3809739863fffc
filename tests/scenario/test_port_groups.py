"""Machines with SR-IOV are started, moved and deleted; port groups of switches follow (docs/contrail.md D.16)."""

from __future__ import annotations

from typing import Any

import pytest

from intentc.model import Key
from tests.support.contrail_system import ContrailSystem, fq_name
from tests.support.memory_system import Document

pytestmark = pytest.mark.anyio

ROOT = "default-global-system-config"
GROUP, PORT = "virtual_port_group", "virtual_machine_interface"


def pairs(**values: str) -> Document:
    return {"key_value_pair": [{"key": key, "value": value} for key, value in values.items()]}


def hosted(*hosts: str) -> list[tuple[str, Document]]:
    """Each host is connected with the port of its name at the switch ``leaf`` of a fabric."""
    found: list[tuple[str, Document]] = [
        ("fabric", {"fq_name": [ROOT, "f"]}),
        (
            "physical_router",
            {
                "fq_name": [ROOT, "leaf"],
                "physical_router_hostname": "leaf1",
                "fabric_refs": [{"to": [ROOT, "f"]}],
            },
        ),
    ]
    for host in hosts:
        link = {"local_link_connection": {"switch_info": "leaf1", "port_id": f"xe-{host}_0"}}
        found += [
            ("physical_interface", {"fq_name": [ROOT, "leaf", f"xe-{host}:0"]}),
            ("node", {"fq_name": [ROOT, host], "hostname": host}),
            ("port", {"fq_name": [ROOT, host, "ens1"], "bms_port_info": link}),
            (
                "virtual_router",
                {"fq_name": [ROOT, host], "virtual_router_sriov_physical_networks": pairs(physnet="ens1")},
            ),
        ]
    return found


async def begin(system: ContrailSystem) -> None:
    """Two hosts, and two networks of the physical network of both."""
    for kind, body in hosted("one", "two"):
        await system.offline.server.create(kind, body)
    for number in (1, 2):
        provided = {"segmentation_id": 100 + number, "physical_network": "physnet"}
        await system.create("virtual_network", f"blue:vn{number}", provider_properties=provided)


def machine(network: str, host: str) -> Document:
    return {
        "parent_type": "project",
        "virtual_network_refs": [{"to": fq_name(f"blue:{network}")}],
        "virtual_machine_interface_bindings": pairs(vnic_type="direct", host_id=host),
    }


async def seen(system: ContrailSystem) -> dict[str, list[int]]:
    """The tags of the fabric ports in each port group, by the switch's port; it is as the oracle says."""
    await system.check()
    tags = {
        name: port["virtual_machine_interface_properties"]["sub_interface_vlan_tag"]
        for name, port in (await system.stored(PORT)).items()
        if "__internal_sriov_" in name
    }
    return {
        group["physical_interface_refs"][0]["to"][-1]: sorted(
            tags[":".join(entry["to"])] for entry in group["virtual_machine_interface_refs"]
        )
        for group in (await system.stored(GROUP)).values()
    }


@pytest.mark.also_live
async def test_groups_follow_machines(system: ContrailSystem) -> None:
    await begin(system)
    await system.create(PORT, "blue:vm1", **machine("vn1", "one"))
    await system.create(PORT, "blue:vm2", **machine("vn1", "one"))
    await system.create(PORT, "blue:vm3", **machine("vn2", "one"))
    assert await seen(system) == {"xe-one:0": [101, 102]}
    await system.change(PORT, "blue:vm3", **machine("vn2", "two"))
    assert await seen(system) == {"xe-one:0": [101], "xe-two:0": [102]}
    await system.remove(PORT, "blue:vm1")
    assert await seen(system) == {"xe-one:0": [101], "xe-two:0": [102]}
    assert (await system.restart()).write.written == []
    await system.change(PORT, "blue:vm2", **machine("vn1", "null"))
    assert await seen(system) == {"xe-two:0": [102]}
    await system.remove(PORT, "blue:vm3")
    assert await seen(system) == {}
    assert [name for name in await system.stored(PORT) if "__internal_" in name] == []


async def test_two_switch_ports_share_the_fabric_port_of_a_network(system: ContrailSystem) -> None:
    await begin(system)
    await system.create(PORT, "blue:vm1", **machine("vn1", "one"))
    await system.create(PORT, "blue:vm2", **machine("vn1", "two"))
    assert await seen(system) == {"xe-one:0": [101], "xe-two:0": [101]}
    assert len([name for name in await system.stored(PORT) if "__internal_" in name]) == 1
    await system.remove(PORT, "blue:vm1")
    assert await seen(system) == {"xe-two:0": [101]}


async def test_another_tag_of_the_network_is_written_in_place(system: ContrailSystem) -> None:
    await begin(system)
    await system.create(PORT, "blue:vm1", **machine("vn1", "one"))
    before = await system.stored(GROUP)
    provided = {"segmentation_id": 300, "physical_network": "physnet"}
    await system.change("virtual_network", "blue:vn1", provider_properties=provided)
    assert await seen(system) == {"xe-one:0": [300]}
    assert await system.stored(GROUP) == before


@pytest.mark.parametrize("last", range(6))
async def test_any_part_of_the_way_may_be_last(system: ContrailSystem, last: int) -> None:
    way = hosted("one")
    late = way[last]
    # What stands below the late one is created with it.
    below = [
        one for one in way if one[1]["fq_name"][:-1] == late[1]["fq_name"] and one[0] in ("port", "physical_interface")
    ]
    refers = [one for one in way if one[0] == "physical_router"] if late[0] == "fabric" else []
    kept = [one for one in way if one not in (late, *below, *refers)]
    orphans = [one for one in kept if refers and one[0] == "physical_interface"]
    await system.create(
        "virtual_network", "blue:vn1", provider_properties={"segmentation_id": 7, "physical_network": "physnet"}
    )
    await system.create(PORT, "blue:vm1", **machine("vn1", "one"))
    for kind, body in [one for one in kept if one not in orphans]:
        await system.offline.server.create(kind, body)
    await system.settle()
    assert await seen(system) == {}
    for kind, body in [late, *refers, *below, *orphans]:
        await system.offline.server.create(kind, body)
    await system.settle()
    assert await seen(system) == {"xe-one:0": [7]}


async def test_the_annotation_is_repaired_and_others_stay(system: ContrailSystem) -> None:
    await begin(system)
    await system.create(PORT, "blue:vm1", **machine("vn1", "one"))
    (group,) = (await system.stored(GROUP)).values()
    kept = [pair for pair in group["annotations"]["key_value_pair"] if pair["key"] != "usage"]
    mine = {"key": "mine", "value": "yes"}
    await system.offline.server.update(Key(GROUP, group["uuid"]), {"annotations": {"key_value_pair": [*kept, mine]}})
    await system.settle()
    (group,) = (await system.stored(GROUP)).values()
    assert {"key": "usage", "value": "sriov-vm"} in group["annotations"]["key_value_pair"]
    assert mine in group["annotations"]["key_value_pair"]
    await system.check()
    assert (await system.restart()).write.written == []


async def test_a_group_that_a_user_made_stays_as_it_is(system: ContrailSystem) -> None:
    await begin(system)
    body: dict[str, Any] = {
        "fq_name": [ROOT, "f", "mine"],
        "parent_type": "fabric",
        "annotations": pairs(usage="sriov-vm"),
    }
    await system.offline.server.create(GROUP, body)
    await system.settle()
    (group,) = (await system.stored(GROUP)).values()
    assert group["annotations"] == pairs(usage="sriov-vm")


async def test_our_references_block_nobody(system: ContrailSystem) -> None:
    """A network and a switch's port are deleted with the last machine, before anybody compiles."""
    await begin(system)
    await system.create(PORT, "blue:vm1", **machine("vn1", "one"))
    assert await seen(system) == {"xe-one:0": [101]}
    server = system.offline.server
    names = ((PORT, fq_name("blue:vm1")), ("virtual_network", fq_name("blue:vn1")))
    for kind, name in (*names, ("physical_interface", [ROOT, "leaf", "xe-one:0"])):
        await server.delete(Key(kind, await server.identify(kind, name)))
    await system.settle()
    assert await seen(system) == {}
    assert [name for name in await system.stored(PORT) if "__internal_" in name] == []
    assert system.problems == {}
