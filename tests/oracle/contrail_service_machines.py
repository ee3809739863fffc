"""The naive oracle's part for the machines of services of version 1 (docs/contrail.md D.8.10)."""

from __future__ import annotations

from typing import Any

from tests.oracle.contrail_chains import subnets_of
from tests.oracle.contrail_policies import name_of
from tests.oracle.contrail_routes import interfaces
from tests.oracle.contrail_world import Expected, Json, World, is_users, mark, normal, resources, targets

OWN = {"svc-vn-mgmt": 1, "svc-vn-left": 2, "svc-vn-right": 3}
IPAM = "default-domain:default-project:default-network-ipam"


def expected(world: World) -> Expected:
    """virtual_machine, virtual_machine_interface, interface_route_table, instance_ip and virtual_network, of those that
    are made here: fields and references, normal."""
    found: Expected = {}
    for service in resources(world, "service_instance"):
        add(world, service, found)
    return found


def add(world: World, service: Json, found: Expected) -> None:
    properties = service.get("service_instance_properties") or {}
    sides = interfaces(world, service)
    start = "__".join(service["fq_name"])
    hosts = [t for t in resources(world, "port_tuple") if t.get("parent_uuid") == service["uuid"]]
    hosts += [
        m
        for m in resources(world, "virtual_machine")
        if service in targets(world, m, "service_instance") and m["fq_name"][-1].rpartition("__")[0] != start
    ]
    count = (properties.get("scale_out") or {}).get("max_instances") or 1
    template = (targets(world, service, "service_template") or [{}])[0].get("service_template_properties") or {}
    old = template.get("version", 1) == 1 and template.get("service_virtualization_type") != "physical-device"
    if hosts or not sides or not old:
        return
    types = [entry.get("service_interface_type") or "" for entry in template["interface_type"]]
    given = properties["interface_list"]
    for side in sides:
        if not given[types.index(side)].get("virtual_network"):
            add_network(world, sides[side], found)
    if count > 100:
        return
    standby = properties.get("ha_mode") == "active-standby"
    mode = properties.get("ha_mode") or ("active-active" if count > 1 else "active-standby")
    own = [*service["fq_name"][:-1], "default"]
    groups = [":".join(own)] if own in [g["fq_name"] for g in resources(world, "security_group")] else []
    if template.get("service_mode") not in ("in-network", "in-network-nat") or own[-2] == "default-project":
        groups = []
    for number in range(1, count + 1):
        found["virtual_machine", (f"{start}__{number}",)] = {"service": [name_of(service)]}
    for side, text in sides.items():
        networks = [network for network in resources(world, "virtual_network") if name_of(network) == text]
        if not networks:
            continue
        place = types.index(side)
        routes = normal((given[place].get("static_routes") or {}).get("route") or [])
        table = (*service["fq_name"][:-1], f"{service['uuid']} {side}")
        if routes:
            found["interface_route_table", table] = {"routes": routes}
        # To a user's table of that name nothing refers: such an entry would be the user's.
        is_referred = bool(routes) and not is_users(world, "interface_route_table", table)
        ports = []
        for number in range(1, count + 1):
            port = (*service["fq_name"][:-1], f"{start}__{number}__{side}__{place + 1}")
            preference = (200 if number == 1 else 100) if standby else 0
            found["virtual_machine_interface", port] = {
                "side": side,
                "preference": preference,
                "refers": sorted([text, f"{start}__{number}", *groups]),
            }
            if not is_users(world, "virtual_machine_interface", port):
                of_services = [f"interface_route_table {':'.join(table)}"] if is_referred else []
                found["virtual_machine_interface", port]["of_services"] = of_services
            ports.append(port)
        shared = any(e.get("shared_ip") for e in template["interface_type"] if e.get("service_interface_type") == side)
        using = {f"{start}-{side}": ports}
        if not shared:
            using = {f"{start}__{number}-{side}": [port] for number, port in enumerate(ports, 1)}
        for name, holders in using.items():
            for version in (4, 6):
                if subnets_of(networks[0], version):
                    name_there = f"{name}-{networks[0]['uuid']}" + ("" if version == 4 else "-v6")
                    found["instance_ip", (name_there,)] = {
                        "instance_ip_family": f"v{version}",
                        "instance_ip_mode": mode,
                        "service_instance_ip": True,
                        "refers": sorted([text, *(":".join(port) for port in holders)]),
                    }


def add_network(world: World, text: str, found: Expected) -> None:
    """A project's own network for a type of interface, unless a user made it."""
    if not any(name_of(network) == text and mark(network) is None for network in resources(world, "virtual_network")):
        name = tuple(text.split(":"))
        if name[-1] in OWN:
            number = OWN[name[-1]]
            six = f"fd12:3456:789a:{number}:"
            found["virtual_network", name] = {
                "ipam": {
                    IPAM: [
                        f"10.250.{number}.0/24 10.250.{number}.254 10.250.{number}.253",
                        f"{six}:/64 {six}ffff:ffff:ffff:fffe {six}ffff:ffff:ffff:fffd",
                    ]
                },
                "hidden": False,
            }


def actual(world: World) -> Expected:
    """What is there, in the same form. Networks and addresses are those of other parts."""
    found: Expected = {}
    for machine in made(world, "virtual_machine"):
        found["virtual_machine", tuple(machine["fq_name"])] = {"service": referred(machine, "service_instance")}
    for table in made(world, "interface_route_table"):
        routes = (table.get("interface_route_table_routes") or {}).get("route")
        found["interface_route_table", tuple(table["fq_name"])] = {"routes": normal(routes)}
    for port in made(world, "virtual_machine_interface"):
        properties = port.get("virtual_machine_interface_properties") or {}
        if referred(port, "virtual_machine"):
            groups = [name for name in referred(port, "security_group") if name.endswith(":default")]
            found["virtual_machine_interface", tuple(port["fq_name"])] = {
                "side": properties.get("service_interface_type"),
                "preference": properties.get("local_preference") or 0,
                "refers": sorted([*referred(port, "virtual_network"), *referred(port, "virtual_machine"), *groups]),
            }
    return found


def made(world: World, kind: str) -> list[Any]:
    return [one for one in resources(world, kind) if mark(one) is not None]


def referred(resource: Json, kind: str) -> list[str]:
    return [":".join(entry["to"]) for entry in resource.get(f"{kind}_refs") or []]
