"""The naive oracle's part for what a service gives to the ports of its port tuples, and its own addresses there
(docs/contrail.md D.8.9)."""

from __future__ import annotations

import re

from tests.oracle.contrail_chains import subnets_of
from tests.oracle.contrail_policies import name_of
from tests.oracle.contrail_routes import interfaces
from tests.oracle.contrail_world import Expected, Json, World, is_hidden, mark, normal, resources, targets

OF_MACHINES = re.compile("^[0-9a-f-]{36} ")
"""The names of the tables of services of version 1."""

CHAIN_IPAM = "default-domain:default-project:service-chain-flat-ipam"


def expected(world: World) -> Expected:
    """instance_ip, of those that are made here: fields and references, normal. service_instance: ``instance_ip_refs``
    {name: type}. virtual_machine_interface: ``of_services``, the names of what it refers to because of services, and
    its ``pairs`` of addresses."""
    found: Expected = {}
    for service in resources(world, "service_instance"):
        found["service_instance", tuple(service["fq_name"])] = {"instance_ip_refs": {}}
    for port in resources(world, "virtual_machine_interface"):
        found["virtual_machine_interface", tuple(port["fq_name"])] = {
            "of_services": of_services(world, port),
            "pairs": allowed_pairs(world, port),
        }
    for service in resources(world, "service_instance"):
        for side in interfaces(world, service):
            ports = ports_of(world, service, side)
            if ports:
                add_addresses(world, service, side, ports, found)
    return found


def add_addresses(world: World, service: Json, side: str, ports: list[Json], found: Expected) -> None:
    names = sorted(name_of(port) for port in ports)
    pairs = pairs_of(world, service, side)
    mode = (pairs[0].get("address_mode") or "active-standby") if pairs else "active-active"
    for family in ("v4", "v6"):
        name = f"{service['uuid']}-{side}-{family}"
        found["instance_ip", (name,)] = normal(
            {
                "instance_ip_family": family,
                "instance_ip_secondary": True,
                "service_instance_ip": True,
                "instance_ip_mode": mode,
                "secondary_ip_tracking_ip": pairs[0].get("ip") if pairs else None,
                "refers": sorted([CHAIN_IPAM, *names]),
                "hidden": True,
            }
        )
        found["service_instance", tuple(service["fq_name"])]["instance_ip_refs"][name] = side
    networks = targets(world, ports[0], "virtual_network")[:1]
    for check in checks(world, service, side, "service_health_check"):
        properties = check.get("service_health_check_properties") or {}
        for network in networks if properties.get("health_check_type") == "end-to-end" else []:
            for version in (4, 6):
                if subnets_of(network, version):
                    place = f"{service['uuid']}-{side}-v{version}"
                    found["instance_ip", (f"{place}-health-check-{check['uuid']}-{network['uuid']}",)] = {
                        "instance_ip_family": f"v{version}",
                        "instance_ip_secondary": True,
                        "instance_ip_mode": "active-active",
                        "service_health_check_ip": True,
                        "refers": sorted([name_of(network), *names]),
                    }


def ports_of(world: World, service: Json, side: str) -> list[Json]:
    """The ports of this type of the service's port tuples, in the order of both names."""
    found: dict[str, Json] = {}
    tuples = [t for t in resources(world, "port_tuple") if t.get("parent_uuid") == service["uuid"]]
    for host in sorted(tuples, key=name_of):
        for port in sorted(resources(world, "virtual_machine_interface"), key=lambda port: list(port["fq_name"])):
            type_of_port = (port.get("virtual_machine_interface_properties") or {}).get("service_interface_type")
            if type_of_port == side and host in targets(world, port, "port_tuple"):
                found.setdefault(port["uuid"], port)
    return list(found.values())


def of_services(world: World, port: Json) -> list[str]:
    """The route tables and health checks of the interfaces to which a port belongs."""
    side = (port.get("virtual_machine_interface_properties") or {}).get("service_interface_type") or ""
    found = set()
    for service in resources(world, "service_instance"):
        if side in interfaces(world, service) and port in ports_of(world, service, side):
            for kind in ("interface_route_table", "service_health_check"):
                found |= {f"{kind} {name_of(resource)}" for resource in checks(world, service, side, kind)}
    return sorted(found)


def allowed_pairs(world: World, port: Json) -> list[Json]:
    """The address pairs of a port: those of the interfaces to which it belongs, by the names of its port tuples. Of a
    port without any they are the user's."""
    side = (port.get("virtual_machine_interface_properties") or {}).get("service_interface_type") or ""
    services = [
        service
        for host in targets(world, port, "port_tuple")
        for service in resources(world, "service_instance")
        if service["uuid"] == host.get("parent_uuid") and side in interfaces(world, service)
    ]
    found: list[Json] = []
    for service in services:
        found += [normal(pair) for pair in pairs_of(world, service, side) if normal(pair) not in found]
    return found if services else stored_pairs(port)


def stored_pairs(port: Json) -> list[Json]:
    """The address pairs of a port, as the API server stores them."""
    allowed = port.get("virtual_machine_interface_allowed_address_pairs") or {}
    found: list[Json] = normal(allowed.get("allowed_address_pair") or [])
    return found


def checks(world: World, service: Json, side: str, kind: str) -> list[Json]:
    """The resources of a kind that refer to the service with this type."""
    return [
        resource
        for resource in resources(world, kind)
        for entry in resource.get("service_instance_refs") or []
        if (entry.get("attr") or {}).get("interface_type") == side
        and service in targets(world, {"service_instance_refs": [entry]}, "service_instance")
    ]


def pairs_of(world: World, service: Json, side: str) -> list[Json]:
    """The allowed address pairs of an interface of the service."""
    given = (service.get("service_instance_properties") or {}).get("interface_list") or []
    for template in targets(world, service, "service_template")[:1]:
        types = (template.get("service_template_properties") or {}).get("interface_type") or []
        for place in range(min(len(types), len(given))):
            if types[place].get("service_interface_type") == side:
                pairs: list[Json] = (given[place].get("allowed_address_pairs") or {}).get("allowed_address_pair") or []
                return pairs
    return []


def stored_addresses(service: Json) -> Json:
    """The addresses to which a service refers, with the types of their interfaces."""
    entries = service.get("instance_ip_refs") or []
    return {":".join(entry["to"]): (entry.get("attr") or {}).get("interface_type") or "" for entry in entries}


def stored_of_services(port: Json) -> list[str]:
    """What a port refers to because of its services."""
    return sorted(
        f"{kind} {':'.join(entry['to'])}"
        for kind in ("interface_route_table", "service_health_check")
        for entry in port.get(f"{kind}_refs") or []
        if (entry.get("attr") or {}).get("of_service") or OF_MACHINES.search(entry["to"][-1])
    )


def actual(world: World) -> Expected:
    """What is there, in the same form."""
    found: Expected = {}
    for service in resources(world, "service_instance"):
        found["service_instance", tuple(service["fq_name"])] = {"instance_ip_refs": stored_addresses(service)}
    for port in resources(world, "virtual_machine_interface"):
        found["virtual_machine_interface", tuple(port["fq_name"])] = {
            "of_services": stored_of_services(port),
            "pairs": stored_pairs(port),
        }
    for address in resources(world, "instance_ip"):
        if mark(address) is not None and is_of_service(address):
            found["instance_ip", tuple(address["fq_name"])] = stored_fields(address)
    return found


def is_of_service(address: Json) -> bool:
    """Whether the instance IP is a service's own, and not a chain's."""
    return bool(address.get("service_instance_ip") or address.get("service_health_check_ip"))


def stored_fields(address: Json) -> Json:
    kinds = ("virtual_machine_interface", "virtual_network", "network_ipam")
    refers = [":".join(entry["to"]) for kind in kinds for entry in address.get(f"{kind}_refs") or []]
    found = {field: address.get(field) for field in FIELDS} | {"hidden": is_hidden(address)}
    return {**normal(found), "refers": sorted(refers)}


FIELDS = (
    "instance_ip_family",
    "instance_ip_secondary",
    "service_instance_ip",
    "service_health_check_ip",
    "instance_ip_mode",
    "secondary_ip_tracking_ip",
)
