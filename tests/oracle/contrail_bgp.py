"""The naive oracle's part for BGP: the mesh of routers, and BGP as a service (docs/contrail.md D.12, D.13).

Written from the specification; imports nothing of intentc. ``contrail.py`` joins it with the other parts.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from tests.oracle.contrail_world import Expected, Json, World, mark, normal, resources, targets

MESH_ATTRIBUTE: Json = {"session": [{"attributes": [{}]}]}
"""What a link of the mesh has, without what means nothing."""


def expected(world: World, numbers: dict[str, int]) -> Expected:
    """(kind, fq_name) → the fields of BGP: ``bgp_router_parameters``, ``bgp_router_refs`` {name: attribute}."""
    found: Expected = {}
    for router in resources(world, "bgp_router"):
        if mark(router) is not None:
            continue
        parameters = dict(router.get("bgp_router_parameters") or {})
        links = stored_links(world, router)
        if not of_a_service(router):
            if is_contrail(router) and not group_of(world, router):
                parameters["autonomous_system"] = global_system(world)
            if auto_mesh(world):
                links = mesh_links(world, router, links)
        fields = {"bgp_router_parameters": normal(parameters), "bgp_router_refs": links}
        found["bgp_router", tuple(router["fq_name"])] = fields
    for kind in ("bgp_as_a_service", "virtual_machine_interface"):
        for holder in resources(world, kind):
            found[kind, tuple(holder["fq_name"])] = {"bgp_router_refs": {}}
    for service in resources(world, "bgp_as_a_service"):
        add_service(world, numbers, service, found)
    return found


def mesh_links(world: World, router: Json, stored: dict[str, Any]) -> dict[str, Any]:
    links = {name: attribute for name, attribute in stored.items() if attribute != MESH_ATTRIBUTE}
    for other in resources(world, "bgp_router"):
        name = ":".join(other["fq_name"])
        if other is router or not (candidate(world, router) and candidate(world, other)):
            continue
        if group_of(world, router) != group_of(world, other):
            continue
        if linked(world, router, other):
            links.setdefault(name, MESH_ATTRIBUTE)
        else:
            links.pop(name, None)
    return links


def add_service(world: World, numbers: dict[str, int], service: Json, found: Expected) -> None:
    """Adds the routers of a BGP service, and the references to them."""
    interfaces = targets(world, service, "virtual_machine_interface")
    placed = [(interface, *place) for interface in interfaces if (place := place_of(world, interface))]
    system, address = service.get("autonomous_system"), service.get("bgpaas_ip_address") or ""
    if not placed or not system:
        return
    if not service.get("bgpaas_shared"):
        clients = [(interface["fq_name"][-1], interface, network, instance, [interface])
                   for interface, network, instance in placed]  # fmt: skip
    elif address:
        clients = [(service["fq_name"][-1], *placed[0], interfaces)]
    else:
        return
    session = normal(service.get("bgpaas_session_attributes") or {})
    attribute = {"session": [{"attributes": [session]}]} if session else {}
    for name, interface, network, instance, holders in clients:
        own = "" if service.get("bgpaas_shared") else interface["uuid"]
        ports = [
            number
            for owner, number in numbers.items()
            if owner.split("/")[1:] == [service["uuid"], f"source_port.{instance['uuid']}.{own}"]
        ]
        first, second = (address_of(world, interface, version) for version in (4, 6))
        parameters: Json = {"router_type": "bgpaas-client", "autonomous_system": system}
        parameters |= {"address": address or first, "identifier": address or first}
        parameters["source_port"] = ports[0] if ports else None
        if not service.get("bgpaas_suppress_route_advertisement"):
            gateway = gateway_of(network, first)
            parameters["gateway_address"] = gateway
            parameters["ipv6_gateway_address"] = gateway_of(network, second)
            if service.get("bgpaas_ipv4_mapped_ipv6_nexthop"):
                parameters["ipv6_gateway_address"] = f"::ffff:{gateway}" if gateway else ""
        client, server = (*instance["fq_name"], name), (*instance["fq_name"], "bgpaas-server")
        found["bgp_router", client] = {
            "bgp_router_parameters": normal(parameters),
            "bgp_router_refs": {":".join(server): attribute},
        }
        on_server = found.setdefault(
            ("bgp_router", server),
            {"bgp_router_parameters": {"router_type": "bgpaas-server"}, "bgp_router_refs": {}},
        )
        on_server["bgp_router_refs"][":".join(client)] = attribute
        found["bgp_as_a_service", tuple(service["fq_name"])]["bgp_router_refs"][":".join(client)] = {}
        for holder in holders:
            found["virtual_machine_interface", tuple(holder["fq_name"])]["bgp_router_refs"][":".join(client)] = {}


def place_of(world: World, interface: Json) -> tuple[Json, Json] | None:
    """The network of an interface, and the network's primary routing instance."""
    for network in targets(world, interface, "virtual_network")[:1]:
        for instance in resources(world, "routing_instance"):
            if instance["fq_name"] == [*network["fq_name"], network["fq_name"][-1]]:
                return network, instance
    return None


def address_of(world: World, interface: Json, version: int) -> str:
    """The address of the first instance IP by name that is not secondary."""
    for instance_ip in sorted(resources(world, "instance_ip"), key=lambda data: data["fq_name"]):
        address = instance_ip.get("instance_ip_address") or ""
        primary = address and not instance_ip.get("instance_ip_secondary") and (":" in address) == (version == 6)
        if primary and interface in targets(world, instance_ip, "virtual_machine_interface"):
            return str(address)
    return ""


def gateway_of(network: Json, address: str) -> str:
    for entry in network.get("network_ipam_refs") or []:
        for subnet in (entry.get("attr") or {}).get("ipam_subnets") or []:
            prefix = f"{subnet['subnet']['ip_prefix']}/{subnet['subnet']['ip_prefix_len']}"
            if address and ipaddress.ip_address(address) in ipaddress.ip_network(prefix, strict=False):
                return subnet.get("default_gateway") or ""
    return ""


def actual(world: World) -> Expected:
    """What is there, in the same form."""
    found: Expected = {
        (kind, tuple(holder["fq_name"])): {"bgp_router_refs": stored_links(world, holder)}
        for kind in ("bgp_router", "bgp_as_a_service", "virtual_machine_interface")
        for holder in resources(world, kind)
    }
    for router in resources(world, "bgp_router"):
        parameters = normal(router.get("bgp_router_parameters") or {})
        found["bgp_router", tuple(router["fq_name"])]["bgp_router_parameters"] = parameters
    return found


def stored_links(world: World, router: Json) -> dict[str, Any]:
    links = {}
    for entry in router.get("bgp_router_refs") or []:
        for other in resources(world, "bgp_router"):
            if other["uuid"] == entry.get("uuid") or (not entry.get("uuid") and other["fq_name"] == entry["to"]):
                links[":".join(other["fq_name"])] = normal(entry.get("attr") or {})
    return links


def candidate(world: World, router: Json) -> bool:
    if of_a_service(router):
        return False
    own = (router.get("bgp_router_parameters") or {}).get("autonomous_system")
    in_system = is_contrail(router) or own == global_system(world)
    return in_system or bool(group_of(world, router)) or bool(fabrics_of(world, router))


def linked(world: World, one: Json, other: Json) -> bool:
    """The route reflectors' rule for two candidates."""
    everyone = [router for router in resources(world, "bgp_router") if not of_a_service(router)]
    reflectors = [router for router in everyone if is_reflector(router)]
    if not reflectors:
        return True
    if is_control(one) and is_control(other) and not any(is_control(router) for router in reflectors):
        return True
    if one not in reflectors and other not in reflectors:
        return False
    fabrics = fabrics_of(world, one), fabrics_of(world, other)
    return not all(fabrics) or bool(fabrics[0] & fabrics[1])


def group_of(world: World, router: Json) -> tuple[str, ...]:
    """The name of its sub-cluster; empty without one."""
    names = sorted(tuple(cluster["fq_name"]) for cluster in targets(world, router, "sub_cluster"))
    return names[0] if names else ()


def fabrics_of(world: World, router: Json) -> set[tuple[str, ...]]:
    found = set()
    for device in resources(world, "physical_router"):
        if router in targets(world, device, "bgp_router"):
            found |= {tuple(fabric["fq_name"]) for fabric in targets(world, device, "fabric")}
    return found


def of_a_service(router: Json) -> bool:
    kind = (router.get("bgp_router_parameters") or {}).get("router_type") or ""
    return str(kind).startswith("bgpaas-")


def is_contrail(router: Json) -> bool:
    vendor = (router.get("bgp_router_parameters") or {}).get("vendor") or "contrail"
    return str(vendor).lower() == "contrail"


def is_control(router: Json) -> bool:
    return (router.get("bgp_router_parameters") or {}).get("router_type") == "control-node"


def is_reflector(router: Json) -> bool:
    return bool((router.get("bgp_router_parameters") or {}).get("cluster_id"))


def global_system(world: World) -> int:
    for config in resources(world, "global_system_config"):
        return int(config.get("autonomous_system") or 64512)
    return 64512


def auto_mesh(world: World) -> bool:
    """True unless it is switched off; a missing value is true."""
    return all(config.get("ibgp_auto_mesh") in (None, True) for config in resources(world, "global_system_config"))
