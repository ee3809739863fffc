"""The kinds, collections and structures of Contrail over HTTP, on a real etcd (docs/contrail.md A.3, A.4, B.1, B.2)."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from intentc.model import kebab
from tests.unit.apiserver.contrail_kinds import PROJECT, SEEDED, SERVED, new

pytestmark = [pytest.mark.anyio, pytest.mark.etcd, pytest.mark.http]


async def create(client: httpx2.AsyncClient, kind: str, **fields: Any) -> dict[str, Any]:
    answer = await client.post(f"/{kind}s", json={kind: fields})
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()[kind]
    return made


async def uuid_of(client: httpx2.AsyncClient, kind: str, *fq_name: str) -> str:
    uuid: str = (await client.post("/fqname-to-id", json={"type": kind, "fq_name": fq_name})).json()["uuid"]
    return uuid


async def shown(client: httpx2.AsyncClient, kind: str, uuid: str, query: str = "") -> dict[str, Any]:
    answer = await client.get(f"/{kind}/{uuid}{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()[kind]
    return found


async def test_every_kind_is_created_changed_listed_and_deleted(client: httpx2.AsyncClient) -> None:
    made = {kind: await uuid_of(client, kebab(kind), *name) for kind, name in SEEDED.items()}
    waiting, order = [kind for kind in SERVED if kind.name not in made], []
    while waiting:
        kind = next(one for one in waiting if not one.parents or made.keys() & {p.kind for p in one.parents})
        name, path = kebab(kind.name), kebab(kind.plural)
        answer = await client.post(f"/{path}", json={name: new(kind, made, "one")})
        assert answer.status_code == 200, answer.text
        made[kind.name] = answer.json()[name]["uuid"]
        place = f"/{name}/{made[kind.name]}"
        answer = await client.put(place, json=(await client.get(place)).json())
        assert answer.status_code == 200, answer.text
        assert made[kind.name] in [one["uuid"] for one in (await client.get(f"/{path}?fields=name")).json()[path]]
        waiting.remove(kind)
        order.append(place)
    for place in reversed(order):
        assert (await client.delete(place)).status_code == 200, place
        assert (await client.get(place)).status_code == 404


async def test_what_an_sriov_port_needs_is_stored_and_linked(client: httpx2.AsyncClient) -> None:
    """The hosts, devices and port groups of docs/contrail.md A.3, as a provisioner writes them."""
    system = ["default-global-system-config"]
    node = await create(client, "node", fq_name=[*system, "n"], hostname="host-1")
    link = {"switch_info": "leaf-1", "port_id": "xe-0_0_1"}
    await create(
        client, "port", fq_name=[*system, "n", "eth1"], bms_port_info={"local_link_connection": link}, label="sriov"
    )
    agent = await create(client, "virtual-router", fq_name=[*system, "host-1"], virtual_router_ip_address="10.0.0.1")
    networks = "virtual_router_sriov_physical_networks"
    update = {
        "field": networks,
        "operation": "set",
        "value": {"key": "physnet1", "value": "eth1"},
        "position": "physnet1",
    }
    answer = await client.post("/prop-collection-update", json={"uuid": agent["uuid"], "updates": [update]})
    assert answer.status_code == 200, answer.text
    device = await create(client, "physical-router", fq_name=[*system, "leaf-1"], physical_router_hostname="leaf-1")
    interface = await create(client, "physical-interface", fq_name=[*device["fq_name"], "xe-0/0/1"])
    await create(client, "fabric", fq_name=[*system, "f"])
    group = await create(
        client,
        "virtual-port-group",
        parent_type="fabric",
        fq_name=[*system, "f", "g"],
        physical_interface_refs=[{"uuid": interface["uuid"], "attr": {"ae_num": 3}}],
        annotations={"key_value_pair": [{"key": "usage", "value": "sriov-vm"}]},
    )

    assert (await shown(client, "virtual-router", agent["uuid"]))[networks] == {
        "key_value_pair": [{"key": "physnet1", "value": "eth1"}]
    }
    (port,) = (await shown(client, "node", node["uuid"]))["ports"]
    assert port["href"].endswith(f"/port/{port['uuid']}")
    found = (await client.get("/ports?fields=bms_port_info&filters=label==sriov")).json()["ports"]
    assert [one["bms_port_info"]["local_link_connection"] for one in found] == [link]
    (back,) = (await shown(client, "physical-interface", interface["uuid"]))["virtual_port_group_back_refs"]
    assert (back["uuid"], back["to"], back["attr"]) == (group["uuid"], group["fq_name"], {"ae_num": 3})


async def test_elements_of_a_list_have_positions(client: httpx2.AsyncClient) -> None:
    network = await create(client, "virtual-network", fq_name=[*PROJECT, "n"])
    field, uuid = "virtual_network_fat_flow_protocols", network["uuid"]

    async def change(**update: Any) -> int:
        body = {"uuid": uuid, "updates": [{"field": field, **update}]}
        return (await client.post("/prop-collection-update", json=body)).status_code

    async def elements(query: str = "") -> Any:
        return (await client.get(f"/prop-collection-get?uuid={uuid}&fields={field}{query}")).json()[field]

    tcp, udp, icmp = ({"protocol": name, "port": port} for name, port in (("tcp", 80), ("udp", 53), ("icmp", 0)))
    assert [await change(operation="add", value=value) for value in (tcp, udp)] == [200, 200]
    assert await change(operation="add", value=icmp, position="1") == 200
    assert await elements() == [[tcp, "0"], [icmp, "1"], [udp, "2"]]
    assert await change(operation="modify", value=udp, position="0") == 200
    assert await change(operation="delete", position="2") == 200
    assert await elements("&position=1") == [[icmp, "1"]]
    assert (await shown(client, "virtual-network", uuid))[field] == {"fat_flow_protocol": [udp, icmp]}

    assert await change(operation="add", value={"port": "http"}) == 400
    assert await change(operation="set", value=tcp, position="0") == 400
    assert await change(operation="delete", position="2") == 400
    for query in ("", f"?uuid={uuid}", f"?fields={field}", f"?uuid={uuid}&fields=display_name"):
        assert (await client.get(f"/prop-collection-get{query}")).status_code == 400, query
    assert (await client.get(f"/prop-collection-get?uuid=none&fields={field}")).status_code == 404


async def test_a_reference_keeps_its_attribute_until_it_is_written_anew(client: httpx2.AsyncClient) -> None:
    zone = await create(client, "control-node-zone", fq_name=["default-global-system-config", "z"])
    service = await create(client, "bgp-as-a-service", fq_name=[*PROJECT, "b"])
    body = {"operation": "ADD", "type": "bgp-as-a-service", "uuid": service["uuid"], "ref-type": "control-node-zone",
            "ref-uuid": zone["uuid"], "ref-fq-name": None}  # fmt: skip
    for sort, status in (("primary", 200), ("secondary", 200), ("tertiary", 400)):
        answer = await client.post("/ref-update", json={**body, "attr": {"bgpaas_control_node_zone_type": sort}})
        assert answer.status_code == status, answer.text
    wanted = {"bgpaas_control_node_zone_type": "secondary"}
    (reference,) = (await shown(client, "bgp-as-a-service", service["uuid"]))["control_node_zone_refs"]
    (back,) = (await shown(client, "control-node-zone", zone["uuid"]))["bgp_as_a_service_back_refs"]
    assert reference["attr"] == back["attr"] == wanted
    assert reference["href"].endswith(f"/control-node-zone/{zone['uuid']}")


async def test_a_read_shows_what_was_asked_for(client: httpx2.AsyncClient) -> None:
    policy = await create(client, "network-policy", fq_name=[*PROJECT, "p"], network_policy_entries={"policy_rule": []})
    attribute = {"sequence": {"major": 1, "minor": 0}}
    await create(
        client,
        "virtual-network",
        fq_name=[*PROJECT, "n"],
        network_policy_refs=[{"uuid": policy["uuid"], "attr": attribute}],
    )
    whole = await shown(client, "network-policy", policy["uuid"])
    (back,) = whole["virtual_network_back_refs"]
    assert back["attr"] == attribute
    assert whole["parent_href"].endswith(f"/project/{policy['parent_uuid']}")
    brief = await shown(client, "network-policy", policy["uuid"], "?exclude_back_refs=True&exclude_children=True")
    assert whole.keys() - brief.keys() == {"virtual_network_back_refs"}
    bare = await shown(client, "network-policy", policy["uuid"], "?fields=virtual_network_back_refs&exclude_hrefs=true")
    assert bare["virtual_network_back_refs"] == [{key: back[key] for key in ("uuid", "to", "attr")}]
    assert "network_policy_entries" not in bare
