"""The naive oracle's part for the services of routers with an external gateway (docs/contrail.md D.7.4)."""

from __future__ import annotations

import uuid

from tests.oracle.contrail_policies import name_of
from tests.oracle.contrail_world import Expected, Json, World, is_hidden, is_users, mark, normal, resources, targets

TEMPLATE = "default-domain:netns-snat-template"


def expected(world: World) -> Expected:
    """virtual_network, service_instance and route_table, of those that are made here: what they consist of, normal.
    logical_router: ``source_nat``, the names to which it refers because of its gateway."""
    found: Expected = {}
    for router in resources(world, "logical_router"):
        names = add(world, router, found)
        found["logical_router", tuple(router["fq_name"])] = {"source_nat": names}
    return found


def add(world: World, router: Json, found: Expected) -> list[str]:
    projects = [p for p in resources(world, "project") if p["uuid"] == router.get("parent_uuid")]
    gateways = sorted(
        name_of(network)
        for entry in router.get("virtual_network_refs") or []
        if (entry.get("attr") or {}).get("logical_router_virtual_network_type") != "InternalVirtualNetwork"
        for network in targets(world, {"virtual_network_refs": [entry]}, "virtual_network")
    )
    vxlan = router.get("logical_router_type") == "vxlan-routing" or any(p.get("vxlan_routing") for p in projects)
    if vxlan or not gateways or not projects:
        return []
    above = router["fq_name"][:-1]
    name = f"snat_{router['uuid']}_{uuid.uuid5(uuid.UUID(router['uuid']), 'snat')}"
    left, service, table = (*above, f"snat-si-left_{name}"), (*above, name), (*above, f"rt_{router['uuid']}")
    ipams = [ipam for ipam in resources(world, "network_ipam") if ipam["fq_name"] == [*above, "default-network-ipam"]]
    ipam = name_of(ipams[0]) if ipams else "default-domain:default-project:default-network-ipam"
    found["virtual_network", left] = {
        "ipam": {ipam: ["100.64.0.0/29 100.64.0.6 100.64.0.5"]},
        "hidden": True,
    }
    found["service_instance", service] = {
        "service": {
            "interface_list": [{"virtual_network": gateways[0]}, {"virtual_network": ":".join(left)}],
            "scale_out": {"max_instances": 2, "auto_scale": True},
            "ha_mode": "active-standby",
        },
        # A user may delete it.
        "template": [TEMPLATE] if TEMPLATE in map(name_of, resources(world, "service_template")) else [],
    }
    found["route_table", table] = {"routes": [{"prefix": "0.0.0.0/0", "next_hop": ":".join(service)}]}
    # A user's table of that name is not referred to: such an entry would be the user's.
    tables = [] if is_users(world, "route_table", table) else [":".join(table)]
    return sorted([":".join(service), *tables])


def actual(world: World) -> Expected:
    """What is there, in the same form."""
    found: Expected = {}
    for router in resources(world, "logical_router"):
        names = [":".join(entry["to"]) for entry in router.get("service_instance_refs") or []]
        names += [name_of(t) for t in targets(world, router, "route_table") if mark(t) is not None]
        found["logical_router", tuple(router["fq_name"])] = {"source_nat": sorted(names)}
    for network in resources(world, "virtual_network"):
        if mark(network) is not None:
            found["virtual_network", tuple(network["fq_name"])] = {
                "ipam": stored_subnets(network),
                "hidden": is_hidden(network),
            }
    for service in resources(world, "service_instance"):
        if mark(service) is not None:
            found["service_instance", tuple(service["fq_name"])] = {
                "service": normal(service.get("service_instance_properties") or {}),
                "template": [":".join(entry["to"]) for entry in service.get("service_template_refs") or []],
            }
    for table in resources(world, "route_table"):
        if mark(table) is not None:
            found["route_table", tuple(table["fq_name"])] = {"routes": normal((table.get("routes") or {}).get("route"))}
    return found


def stored_subnets(network: Json) -> Json:
    """IPAM → its subnets with gateway and service address."""
    found: Json = {}
    for entry in network.get("network_ipam_refs") or []:
        for one in (entry.get("attr") or {}).get("ipam_subnets") or []:
            subnet = f"{one['subnet']['ip_prefix']}/{one['subnet']['ip_prefix_len']}"
            text = f"{subnet} {one.get('default_gateway')} {one.get('dns_server_address')}"
            found.setdefault(":".join(entry["to"]), []).append(text)
    return found
