"""The naive oracle's part for transparent services: addresses of chains, and how ports lead traffic to them.

Written from docs/contrail.md D.8.4 and D.8.5 without a look at the compiler, and importing nothing of intentc. The form
of a world is that of ``contrail_world.py``; that of a chain, of ``contrail_chains.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.oracle.contrail_policies import name_of
from tests.oracle.contrail_world import Expected, Json, World, mark, normal, resources, targets

LEFT, RIGHT = "02:00:00:00:00:01", "02:00:00:00:00:02"


class Steered(NamedTuple):
    """One host of a transparent service of a chain. ``owner``: the end of the name of the VLAN's owner."""

    chain: Json
    service: Json
    ports: list[Json]
    owner: str


def add_addresses(chain: Json, found: Expected) -> None:
    """The instance IPs of a chain, which the server gives their addresses."""
    for service in chain["services"]:
        for family in ("v4", "v6") if service["mode"] == "transparent" else ():
            name = (f"{instance_name(chain, service)}-{family}",)
            ipam = ["default-domain:default-project:service-chain-flat-ipam"]
            found["instance_ip", name] = {"family": family, "secondary": True, "ipam": ipam}


def add_steering(world: World, numbers: dict[str, int], chains: list[Json], found: Expected) -> None:
    """``steering`` of each virtual_machine_interface: instance of a chain → attribute."""
    for port in resources(world, "virtual_machine_interface"):
        found.setdefault(("virtual_machine_interface", tuple(port["fq_name"])), {})["steering"] = {}
    for one in steered(world, chains):
        tag = next((value for owner, value in numbers.items() if owner.endswith(one.owner)), None)
        addresses = one.service["addresses"][0]
        for side, port in enumerate(one.ports):
            macs = [LEFT, RIGHT] if side == 0 else [RIGHT, LEFT]
            attribute: Json = {"direction": "both", "vlan_tag": tag, "src_mac": macs[0], "dst_mac": macs[1]}
            attribute |= {"service_chain_address": addresses[0], "ipv6_service_chain_address": addresses[1]}
            instance = f"{name_of(one.chain['ends'][side])}:{instance_name(one.chain, one.service)}"
            found["virtual_machine_interface", tuple(port["fq_name"])]["steering"][instance] = normal(attribute)


def actual(world: World) -> Expected:
    found: Expected = {}
    for ip in resources(world, "instance_ip"):
        if mark(ip) is not None and ip["fq_name"][-1].startswith("service-"):
            found["instance_ip", tuple(ip["fq_name"])] = {
                "family": ip.get("instance_ip_family"),
                "secondary": ip.get("instance_ip_secondary"),
                "ipam": [":".join(entry["to"]) for entry in ip.get("network_ipam_refs") or []],
            }
    for port in resources(world, "virtual_machine_interface"):
        found["virtual_machine_interface", tuple(port["fq_name"])] = {"steering": steering_of(port)}
    return found


def steering_of(port: Json) -> Json:
    entries = [e for e in port.get("routing_instance_refs") or [] if e["to"][-1].startswith("service-")]
    return {":".join(entry["to"]): normal(entry.get("attr") or {}) for entry in entries}


def vlan_owners(world: World, chains: list[Json]) -> set[str]:
    """The ends of the names of all owners of VLANs."""
    return {one.owner for one in steered(world, chains)}


def steered(world: World, chains: list[Json]) -> Iterator[Steered]:
    for chain in chains:
        for position, service in enumerate(chain["services"]):
            for host, ports in service["hosts"]:
                yield Steered(chain, service, ports, f"/{chain['uuid']}/vlan.{position}.{host['uuid']}")


def hosts_with_ports(world: World, hosts: list[tuple[str, Json]]) -> list[tuple[Json, list[Json]]]:
    """(host, its first left and its first right port by name) of each that has both. A port serves one host only."""
    found: list[tuple[Json, list[Json]]] = []
    for kind, host in hosts:
        ports = []
        for side in ("left", "right"):
            for port in sorted(resources(world, "virtual_machine_interface"), key=name_of):
                properties = port.get("virtual_machine_interface_properties") or {}
                if properties.get("service_interface_type") == side and host in targets(world, port, kind):
                    ports.append(port)
                    break
        if len(ports) == 2 and not any(port in others for port in ports for _, others in found):
            found.append((host, ports))
    return found


def given_addresses(world: World, chain: str, service: str) -> list[str]:
    """The IPv4 and the IPv6 address that the server gave to a chain for a service."""
    name = f"service-{chain}-{service.replace(':', '_')}"
    found = ["", ""]
    for ip in resources(world, "instance_ip"):
        for family in (0, 1):
            if mark(ip) is not None and ip["fq_name"] == [f"{name}-{('v4', 'v6')[family]}"]:
                found[family] = ip.get("instance_ip_address") or ""
    return found


def instance_name(chain: Json, service: Json) -> str:
    return f"service-{chain['uuid']}-{service['name'].replace(':', '_')}"
