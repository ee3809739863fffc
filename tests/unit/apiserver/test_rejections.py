"""One request for each rejection of docs/contrail.md B.7 that a kind has, over HTTP in process: status and message."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import msgspec
import pytest

from intentc.apiserver.app import create_app
from intentc.watch.memory import MemoryStore
from intentc.watch.protocol import Put

from .conftest import PROJECT, Api

pytestmark = pytest.mark.anyio

Fields = dict[str, Any]
CONFIG = "beefbeef-beef-beef-beef-beefbeef0001"
FABRIC = [*PROJECT, "ip-fabric"]
NEW = "5b0f0000-0000-4000-8000-0000000000ff"


def named(*names: str, **fields: Any) -> Fields:
    return {"fq_name": [*PROJECT, *names], **fields}


def to(*names: str, **attribute: Any) -> list[Fields]:
    return [{"to": [*PROJECT, *names], **({"attr": attribute} if attribute else {})}]


def subnet(prefix: str = "10.0.0.0", length: int = 24, **fields: Any) -> Fields:
    return {"subnet": {"ip_prefix": prefix, "ip_prefix_len": length}, **fields}


def in_ipam(*subnets: Fields) -> list[Fields]:
    return to("default-network-ipam", ipam_subnets=list(subnets))


def network(name: str = "n", *subnets: Fields, **fields: Any) -> tuple[str, Fields]:
    return "virtual-network", named(name, network_ipam_refs=in_ipam(*(subnets or (subnet(),))), **fields)


PORT = ("virtual-machine-interface", named("i", parent_type="project", virtual_network_refs=to("n")))
ROUTER_RI = [*FABRIC, "__default__"]
INTERNAL = {"logical_router_virtual_network_type": "InternalVirtualNetwork"}
FLAT = ("network-ipam", named("flat", ipam_subnet_method="flat-subnet", ipam_subnets={"subnets": [subnet()]}))
CLUSTER = ("sub-cluster", {"fq_name": ["c"], "sub_cluster_asn": 64513})
ZONES = tuple(
    ("control-node-zone", {"fq_name": ["default-global-system-config", name]}) for name in ("zone-1", "zone-2")
)


def zones(*names: str, **attribute: Any) -> list[Fields]:
    entries: list[Fields] = [{"to": ["default-global-system-config", name]} for name in names]
    return [{**entry, "attr": attribute} if attribute else entry for entry in entries]


def bgp_router(**fields: Any) -> tuple[str, Fields]:
    return "bgp-router", {"fq_name": [*ROUTER_RI, "r"], **fields}


CREATIONS: list[tuple[str, list[tuple[str, Fields]], tuple[str, Fields], int, tuple[str, ...]]] = [
    # networks
    ("two provider networks", [("virtual-network", named("p", is_provider_network=True))],
     ("virtual-network", named("q", virtual_network_refs=[*to("p"), {"to": FABRIC}])),
     400, ("virtual_network_refs", "one provider network")),
    ("a network joined with another", [network("a")], ("virtual-network", named("b", virtual_network_refs=to("a"))),
     400, ("virtual_network_refs", ":a can't be joined", "provider network only")),
    ("a provider network joined with another", [], (
        "virtual-network", named("p", is_provider_network=True, virtual_network_refs=[{"to": FABRIC}])),
     400, ("virtual_network_refs", "ip-fabric can't be joined")),
    ("provider_properties without segmentation", [],
     ("virtual-network", named("p", provider_properties={"physical_network": "physnet1"})),
     400, ("provider_properties.segmentation_id is missing",)),
    ("provider_properties without physical network", [],
     ("virtual-network", named("p", provider_properties={"segmentation_id": 100})),
     400, ("provider_properties.physical_network is missing",)),
    ("an l2 VPN on an l3 network", [("bgpvpn", named("v", bgpvpn_type="l2"))],
     ("virtual-network", named("n", virtual_network_properties={"forwarding_mode": "l3"}, bgpvpn_refs=to("v"))),
     400, ("bgpvpn_refs", "bgpvpn_type l2", "forwarding_mode l3")),
    ("an l3 VPN on an l2 network", [("bgpvpn", named("v"))],
     ("virtual-network", named("n", virtual_network_properties={"forwarding_mode": "l2"}, bgpvpn_refs=to("v"))),
     400, ("bgpvpn_refs", "bgpvpn_type l3", "forwarding_mode l2")),
    ("two bridge domains", [network(), ("bridge-domain", named("n", "one"))], ("bridge-domain", named("n", "two")),
     400, ("one bridge domain", ":n:one")),
    # subnets
    ("no subnet", [], network("n", subnet("nonsense")), 400, ("network_ipam_refs", "nonsense/24 is no subnet")),
    ("overlapping subnets", [], network("n", subnet("10.0.0.0", 16), subnet("10.0.1.0", 24)),
     400, ("network_ipam_refs", "10.0.0.0/16 and 10.0.1.0/24 overlap")),
    ("an overlap with a flat IPAM", [FLAT],
     ("virtual-network", named("n", network_ipam_refs=[*in_ipam(subnet("10.0.0.0", 16)), *to("flat")])),
     400, ("network_ipam_refs", "10.0.0.0/16 and 10.0.0.0/24 overlap")),
    ("a pool outside", [], network("n", subnet(allocation_pools=[{"start": "10.0.1.1", "end": "10.0.1.9"}])),
     400, ("allocation pool 10.0.1.1 to 10.0.1.9", "leaves the subnet 10.0.0.0/24")),
    ("a pool upside down", [], network("n", subnet(allocation_pools=[{"start": "10.0.0.9", "end": "10.0.0.1"}])),
     400, ("allocation pool 10.0.0.9 to 10.0.0.1 is empty",)),
    ("a gateway that is none", [], network("n", subnet(default_gateway="gw")),
     400, ("network_ipam_refs", "default_gateway", "'gw' is no IP address")),
    ("an odd unit", [], network("n", subnet(alloc_unit=3)), 400, ("alloc_unit 3", "power of two")),
    ("own subnets of an ordinary IPAM", [], ("network-ipam", named("m", ipam_subnets={"subnets": [subnet()]})),
     400, ("ipam_subnets is for ipam_subnet_method flat-subnet",)),
    ("subnetting of an ordinary IPAM", [], ("network-ipam", named("m", ipam_subnetting=True)),
     400, ("ipam_subnetting is for ipam_subnet_method flat-subnet",)),
    # addresses
    ("an address outside", [network()],
     ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n"), "instance_ip_address": "10.1.0.5"}),
     400, ("instance_ip_address", "10.1.0.5 lies outside", "10.0.0.0/24")),
    ("an address that is none", [network()],
     ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n"), "instance_ip_address": "10.1"}),
     400, ("instance_ip_address", "'10.1' is no IP address")),
    ("an address that the subnet reserves", [network()],
     ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n"), "instance_ip_address": "10.0.0.255"}),
     400, ("instance_ip_address", "10.0.0.255", "reserves")),
    ("the service address", [network()],
     ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n"), "instance_ip_address": "10.0.0.253"}),
     400, ("instance_ip_address", "10.0.0.253", "reserves")),
    ("an address of another family", [network()],
     ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n"), "instance_ip_address": "10.0.0.5",
                      "instance_ip_family": "v6"}), 400, ("instance_ip_address", "no v6 address")),
    ("a family without subnet", [network()],
     ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n"), "instance_ip_family": "v6"}),
     400, (":n has no v6 subnet", "10.0.0.0/24")),
    ("a network without subnets", [("virtual-network", named("n"))],
     ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n")}), 400, (":n has no subnet",)),
    ("an unknown subnet", [network()],
     ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n"), "subnet_uuid": NEW}),
     400, ("subnet_uuid", NEW, "10.0.0.0/24")),
    ("a taken address", [network(), ("instance-ip", {"fq_name": ["y"], "virtual_network_refs": to("n"),
                                                     "instance_ip_address": "10.0.0.5"})],
     ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n"), "instance_ip_address": "10.0.0.5"}),
     409, ("instance_ip_address", "10.0.0.5", "is taken")),
    ("an exhausted subnet", [
        network("n", subnet(allocation_pools=[{"start": "10.0.0.9", "end": "10.0.0.9"}])),
        ("instance-ip", {"fq_name": ["y"], "virtual_network_refs": to("n")})],
     ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n")}),
     403, ("instance_ip_address", "no address is free in 10.0.0.0/24")),
    ("an address off the unit", [network("n", subnet(alloc_unit=4))],
     ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n"), "instance_ip_address": "10.0.0.9"}),
     400, ("alloc_unit 4", "10.0.0.8")),
    ("a machine with the gateway's address", [
        network(), ("virtual-machine", {"fq_name": ["m"]}),
        (PORT[0], {**PORT[1], "virtual_machine_refs": [{"to": ["m"]}]})],
     ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n"), "instance_ip_address": "10.0.0.254",
                      "virtual_machine_interface_refs": to("i")}), 400, ("instance_ip_address", "is the gateway")),
    ("an address of a virtual router and a network", [
        network(), ("virtual-router", {"fq_name": ["default-global-system-config", "host"]})],
     ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n"),
                      "virtual_router_refs": [{"to": ["default-global-system-config", "host"]}]}),
     400, ("virtual_router_refs", "can't refer to a network")),
    ("a floating IP outside", [network(), ("floating-ip-pool", named("n", "pool"))],
     ("floating-ip", named("n", "pool", "f", parent_type="floating-ip-pool", floating_ip_address="9.9.9.9")),
     400, ("floating_ip_address", "9.9.9.9 lies outside")),
    ("a floating IP of a pool without such a subnet", [
        network(), ("floating-ip-pool", named("n", "pool", floating_ip_pool_subnets={"subnet_uuid": [NEW]}))],
     ("floating-ip", named("n", "pool", "f", parent_type="floating-ip-pool")),
     400, ("floating_ip_pool_subnets", NEW)),
    ("an alias IP that is taken", [
        network(), ("alias-ip-pool", named("n", "pool")),
        ("alias-ip", named("n", "pool", "a", alias_ip_address="10.0.0.7"))],
     ("alias-ip", named("n", "pool", "b", alias_ip_address="10.0.0.7")), 409, ("alias_ip_address", "is taken")),
    # routers
    ("a router with an l2 VPN", [("bgpvpn", named("v", bgpvpn_type="l2"))],
     ("logical-router", named("r", bgpvpn_refs=to("v"))), 400, ("bgpvpn_refs", "a router takes l3 only")),
    ("a router with a VPN, and its network", [
        ("bgpvpn", named("v")), ("virtual-network", named("n", bgpvpn_refs=to("v"))), PORT],
     ("logical-router", named("r", bgpvpn_refs=to("v"), virtual_machine_interface_refs=to("i"))),
     400, ("bgpvpn_refs", "network", ":n", "remove one of the two")),
    ("a strange VXLAN id", [], ("logical-router", named("r", vxlan_network_identifier="many")),
     400, ("vxlan_network_identifier", "'many'", "16777215")),
    ("another internal network", [network()], (
        "logical-router", named("r", logical_router_type="vxlan-routing", virtual_network_refs=to("n", **INTERNAL))),
     400, ("virtual_network_refs", ":n is not the router's internal network")),
    ("a vxlan router with a gateway", [network()],
     ("logical-router", named("r", logical_router_type="vxlan-routing", virtual_network_refs=to("n"))),
     400, ("external gateway",)),
    # BGP
    ("a router of a sub-cluster with another system", [CLUSTER],
     bgp_router(bgp_router_parameters={"autonomous_system": 64512}, sub_cluster_refs=[{"to": ["c"]}]),
     400, ("bgp_router_parameters.autonomous_system is 64512", "64513")),
    ("a router of two zones", list(ZONES),
     bgp_router(bgp_router_parameters={"router_type": "control-node"},
                control_node_zone_refs=zones("zone-1", "zone-2")),
     400, ("control_node_zone_refs", "one control node zone")),
    ("a zone of another router", list(ZONES),
     bgp_router(bgp_router_parameters={"router_type": "router"}, control_node_zone_refs=zones("zone-1")),
     400, ("control_node_zone_refs", "router_type control-node")),
    ("a router with a long system", [], bgp_router(bgp_router_parameters={"autonomous_system": 70000}),
     400, ("bgp_router_parameters", "70000", "enable_4byte_as")),
    ("a shared service without address", [], ("bgp-as-a-service", named("b", bgpaas_shared=True)),
     400, ("bgpaas_ip_address is missing",)),
    ("a service with a bad address", [], ("bgp-as-a-service", named("b", bgpaas_ip_address="here")),
     400, ("bgpaas_ip_address", "'here'")),
    ("a service with a long system", [], ("bgp-as-a-service", named("b", autonomous_system=70000)),
     400, ("autonomous_system 70000", "enable_4byte_as")),
    ("a service with two primary zones", list(ZONES), ("bgp-as-a-service", named(
        "b", control_node_zone_refs=zones("zone-1", "zone-2", bgpaas_control_node_zone_type="primary"))),
     400, ("control_node_zone_refs", "more than one zone is the primary")),
    # services, routes, tags, policy sets
    ("an instance of two templates", [],
     ("service-instance", named("s", service_template_refs=[
         {"to": ["default-domain", "nat-template"]}, {"to": ["default-domain", "analyzer-template"]}])),
     400, ("service_template_refs", "one template")),
    ("two routes to one prefix", [],
     ("route-table", named("t", routes={"route": [{"prefix": "1.0.0.0/8", "next_hop": "10.0.0.1"},
                                                  {"prefix": "1.0.0.0/8", "next_hop": "10.0.0.2"}]})),
     400, ("routes.route[1].prefix", "1.0.0.0/8")),
    ("a tag without type", [], ("tag", named("t", parent_type="project", tag_value="web")),
     400, ("tag_type_name is missing",)),
    ("a tag without value", [], ("tag", named("t", parent_type="project", tag_type_name="application")),
     400, ("tag_value is missing",)),
    ("a tag with an id", [], ("tag", named("t", parent_type="project", tag_type_name="site", tag_value="a",
                                           tag_id="0x00040001")), 400, ("tag_id is given by the server",)),
    ("a type of tags with an id", [], ("tag-type", {"fq_name": ["x"], "tag_type_id": "0x0001"}),
     400, ("tag_type_id is given by the server",)),
    ("a set for all applications", [],
     ("application-policy-set", named("s", parent_type="project", all_applications=True)),
     400, ("all_applications is the server's",)),
]  # fmt: skip

CHANGES: list[tuple[str, list[tuple[str, Fields]], tuple[str, Fields], Fields, int, tuple[str, ...]]] = [
    ("a provider network no more", [], ("virtual-network", named("p", is_provider_network=True)),
     {"is_provider_network": False}, 400, ("is_provider_network can't be set back",)),
    ("properties of a provider network", [],
     ("virtual-network", named("p", is_provider_network=True,
                               provider_properties={"segmentation_id": 5, "physical_network": "one"})),
     {"provider_properties": {"segmentation_id": 6, "physical_network": "one"}},
     400, ("provider_properties can't change",)),
    ("a connected network becomes a provider's", [],
     ("virtual-network", named("n", virtual_network_refs=[{"to": FABRIC}])),
     {"is_provider_network": True}, 400, ("virtual_network_refs", "ip-fabric can't be joined")),
    ("another gateway", [], network("n"), {"network_ipam_refs": in_ipam(subnet(default_gateway="10.0.0.1"))},
     400, ("default_gateway of 10.0.0.0/24 can't change from 10.0.0.254 to 10.0.0.1",)),
    ("another unit", [], network("n"), {"network_ipam_refs": in_ipam(subnet(alloc_unit=2))},
     400, ("alloc_unit of 10.0.0.0/24 can't change",)),
    ("another subnet uuid", [], network("n"), {"network_ipam_refs": in_ipam(subnet(subnet_uuid=NEW))},
     400, ("subnet_uuid of 10.0.0.0/24 can't change",)),
    ("another method", [], FLAT, {"ipam_subnet_method": "user-defined-subnet"},
     400, ("ipam_subnet_method can't change",)),
    ("another address", [network()], ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n")}),
     {"instance_ip_address": "10.0.0.9"}, 400, ("instance_ip_address can't change from 10.0.0.252 to 10.0.0.9",)),
    ("another network", [network(), network("m", subnet("10.1.0.0"))],
     ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n")}), {"virtual_network_refs": to("m")},
     400, ("10.0.0.252 comes from", ":n and can't move to", ":m")),
    ("a VPN of a network whose router has one", [
        ("bgpvpn", named("v")), network(), PORT,
        ("logical-router", named("r", bgpvpn_refs=to("v"), virtual_machine_interface_refs=to("i")))],
     ("virtual-network", named("n")), {"bgpvpn_refs": to("v")}, 400, ("bgpvpn_refs", "logical router", ":r")),
    ("the type of a VPN in use", [("bgpvpn", named("v")), ("virtual-network", named("n", bgpvpn_refs=to("v")))],
     ("bgpvpn", named("v")), {"bgpvpn_type": "l2"}, 400, ("bgpvpn_type can't change", ":n")),
    ("the mode of a network with a VPN", [("bgpvpn", named("v"))], ("virtual-network", named("n", bgpvpn_refs=to("v"))),
     {"virtual_network_properties": {"forwarding_mode": "l2"}}, 400, ("bgpvpn_refs", "forwarding_mode l2")),
    ("the type of a router", [], ("logical-router", named("r")), {"logical_router_type": "vxlan-routing"},
     400, ("logical_router_type can't change",)),
    ("sharing", [], ("bgp-as-a-service", named("b")), {"bgpaas_shared": True, "bgpaas_ip_address": "1.1.1.1"},
     400, ("bgpaas_shared can't change",)),
    ("the type of a router with a zone", list(ZONES), bgp_router(
        bgp_router_parameters={"router_type": "control-node"}, control_node_zone_refs=zones("zone-1")),
     {"bgp_router_parameters": {"router_type": "router"}}, 400, ("control_node_zone_refs", "router_type control-node")),
    ("the system of a sub-cluster", [], CLUSTER, {"sub_cluster_asn": 64514}, 400, ("sub_cluster_asn can't change",)),
    ("fewer ports", [("bgp-as-a-service", named("b"))], ("global-system-config", {"uuid": CONFIG}),
     {"bgpaas_parameters": {"port_start": 50001, "port_end": 60000}}, 400, ("bgpaas_parameters", "50000 to 50512")),
    ("no ports", [], ("global-system-config", {"uuid": CONFIG}),
     {"bgpaas_parameters": {"port_start": 50001, "port_end": 50000}}, 400, ("bgpaas_parameters", "below port_start")),
    ("the terms of a routing policy", [], ("routing-policy", named("p", term_type="vrouter")),
     {"term_type": "network-device"}, 403, ("term_type can't change",)),
    ("the value of a tag", [], ("tag", named("t", parent_type="project", tag_type_name="site", tag_value="a")),
     {"tag_value": "b"}, 400, ("tag_value can't change",)),
    ("the id of a type of tags", [], ("tag-type", {"fq_name": ["x"]}), {"tag_type_id": "0x0001"},
     400, ("tag_type_id can't change",)),
    ("a second template", [], ("service-instance", named(
        "s", service_template_refs=[{"to": ["default-domain", "nat-template"]}])),
     {"service_template_refs": [{"to": ["default-domain", "nat-template"]},
                                {"to": ["default-domain", "analyzer-template"]}]},
     400, ("service_template_refs",)),
    ("a subnet in use", [network(), ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n")})],
     ("virtual-network", named("n")), {"network_ipam_refs": in_ipam(subnet("10.5.0.0"))},
     409, ("network_ipam_refs", "10.0.0.0/24 can't be removed")),
    ("a service address in use", [network(), ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n")})],
     ("virtual-network", named("n")), {"network_ipam_refs": in_ipam(subnet(dns_server_address="10.0.0.252"))},
     409, ("network_ipam_refs", "10.0.0.252 can't become the service address")),
    ("a flat subnet in use", [
        FLAT, ("instance-ip", {"fq_name": ["x"], "network_ipam_refs": to("flat")})],
     ("network-ipam", named("flat")), {"ipam_subnets": {"subnets": []}}, 409, ("ipam_subnets", "10.0.0.0/24")),
    ("a flat IPAM in use", [
        FLAT, ("virtual-network", named("n", network_ipam_refs=to("flat"))),
        ("instance-ip", {"fq_name": ["x"], "virtual_network_refs": to("n")})],
     ("virtual-network", named("n")), {"network_ipam_refs": []},
     409, ("network_ipam_refs", ":flat can't be removed", "x")),
    ("a flat subnet that overlaps with a network's", [
        FLAT, ("virtual-network", named("n", network_ipam_refs=[*in_ipam(subnet("10.7.0.0")), *to("flat")]))],
     ("network-ipam", named("flat")), {"ipam_subnets": {"subnets": [subnet(), subnet("10.7.0.0", 16)]}},
     400, ("ipam_subnets", "overlap")),
]  # fmt: skip


@pytest.fixture
async def client(api: Api) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=create_app(api.server))
    async with httpx2.AsyncClient(transport=transport, base_url="http://api") as opened:
        yield opened


async def post(client: httpx2.AsyncClient, kind: str, fields: Fields) -> httpx2.Response:
    return await client.post(f"/{kind}s", json={kind: fields})


async def made(client: httpx2.AsyncClient, kind: str, fields: Fields) -> Fields:
    answer = await post(client, kind, fields)
    assert answer.status_code == 200, answer.text
    found: Fields = answer.json()[kind]
    return found


def check(answer: httpx2.Response, status: int, words: tuple[str, ...]) -> None:
    message = answer.json().get("message", "")
    assert (answer.status_code, [word for word in words if word not in message]) == (status, []), message


@pytest.mark.parametrize(("given", "request_", "status", "words"), [case[1:] for case in CREATIONS],
                         ids=[case[0] for case in CREATIONS])  # fmt: skip
async def test_a_creation_is_rejected(
    client: httpx2.AsyncClient,
    given: list[tuple[str, Fields]],
    request_: tuple[str, Fields],
    status: int,
    words: tuple[str, ...],
) -> None:
    for kind, fields in given:
        await made(client, kind, fields)
    check(await post(client, *request_), status, words)


@pytest.mark.parametrize(("given", "changed", "fields", "status", "words"), [case[1:] for case in CHANGES],
                         ids=[case[0] for case in CHANGES])  # fmt: skip
async def test_a_change_is_rejected(
    client: httpx2.AsyncClient,
    given: list[tuple[str, Fields]],
    changed: tuple[str, Fields],
    fields: Fields,
    status: int,
    words: tuple[str, ...],
) -> None:
    uuids = {}
    for kind, given_fields in given:
        uuids[kind, tuple(given_fields["fq_name"])] = (await made(client, kind, given_fields))["uuid"]
    kind, target = changed
    uuid = target.get("uuid") or uuids.get((kind, tuple(target.get("fq_name", ()))))
    uuid = uuid or (await made(client, kind, target))["uuid"]
    before = (await client.get(f"/{kind}/{uuid}")).json()
    check(await client.put(f"/{kind}/{uuid}", json={kind: fields}), status, words)
    assert (await client.get(f"/{kind}/{uuid}")).json() == before


async def test_a_default_policy_set_is_deleted_with_its_project_alone(client: httpx2.AsyncClient, api: Api) -> None:
    project = await made(client, "project", {"fq_name": ["default-domain", "p"]})
    uuid = project["application_policy_set_refs"][0]["uuid"]
    check(await client.delete(f"/application-policy-set/{uuid}"), 400, ("default application policy set",))
    assert (await client.delete(f"/project/{project['uuid']}")).status_code == 200
    assert (await client.get(f"/application-policy-set/{uuid}")).status_code == 404


STORED: list[tuple[str, Fields, Fields]] = [
    ("logical-router", {"logical_router_type": "vxlan-routing"}, {"vxlan_network_identifier": "many"}),
    ("bgp-as-a-service", {}, {"bgpaas_shared": True, "bgpaas_ip_address": "", "autonomous_system": 70000}),
    ("bgp-as-a-service", {}, {"bgpaas_ip_address": "here"}),
    ("route-table", {}, {"routes": {"route": [{"prefix": "1.0.0.0/8"}, {"prefix": "1.0.0.0/8"}]}}),
    ("virtual-network", {}, {"provider_properties": {"segmentation_id": 5}}),
    ("network-ipam", {}, {"ipam_subnets": {"subnets": [subnet("nonsense")]}}),
    ("bgp-router", {"fq_name": [*ROUTER_RI, "r"]}, {"bgp_router_parameters": {"autonomous_system": 70000}}),
    ("tag", {"parent_type": "project", "tag_type_name": "site", "tag_value": "a"}, {"tag_type_name": "", "tag_id": ""}),
]
"""(kind, fields of a creation, what an older server stored besides)."""


@pytest.mark.parametrize(("kind", "fields", "left"), STORED, ids=[f"{case[0]} {'+'.join(case[2])}" for case in STORED])
async def test_values_of_an_older_server_prevent_no_other_change_and_no_deletion(
    client: httpx2.AsyncClient, store: MemoryStore, kind: str, fields: Fields, left: Fields
) -> None:
    document = await made(client, kind, named("x") | fields)
    key = f"/contrail/{kind.replace('-', '_')}/{document['uuid']}"
    await store.transaction([], [Put(key, msgspec.json.encode(document | left))])
    other = {"id_perms": {"description": "another"}}
    answer = await client.put(f"/{kind}/{document['uuid']}", json={kind: other})
    assert answer.status_code == 200, answer.text
    assert (await client.delete(f"/{kind}/{document['uuid']}")).status_code == 200
