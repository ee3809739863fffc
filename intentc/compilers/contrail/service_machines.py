"""The machines that a service instance of version 1 runs on, with their ports, addresses and routes, and the networks
for its interfaces that name none (docs/contrail.md D.8.10).

Machines are made while users gave the service neither a port tuple nor a machine. A network of a project, one for each
type of interface, is a fact that services yield, and an intent while any does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID, uuid5

from intentc import Claim, Context, Fact, Intent, ResourceClaim, View, refer

from .instance_ip import SHARED_IPAM, prefixes
from .service_ports import (
    ACTIVE_ACTIVE,
    ACTIVE_STANDBY,
    FAMILIES,
    IN_NETWORK,
    OWN_NETWORKS,
    TRANSLATING,
    Interface,
    hosts,
    interfaces,
    is_physical,
    mode,
    template_properties,
)

SERVICE_NETWORK = "service_network"
"""The fact, and the intent, that a project needs its own network for interfaces of a type: by the project's uuid and
the type."""

MOST_MACHINES = 100
"""A typing error in ``max_instances`` must not fill the store."""

PREFERRED, OTHERS = 200, 100
"""The local preference of the first machine's ports with active-standby, and that of the others'."""

NO_TENANT = "default-project"
"""The name of the project whose services have ports in no security group."""


def service_machines(service: Intent, ctx: Context) -> Iterator[Claim | Fact]:
    template, declared = template_properties(service), interfaces(service)
    if template is None or template.version != 1 or not declared or is_physical(service):
        return
    prefix = "__".join(service.fq_name)
    made = (host.kind == "virtual_machine" and host.name.rpartition("__")[0] == prefix for host in hosts(service))
    if not all(made):
        return
    project = service.parent()
    if project is None:
        return
    for side, interface in declared.items():
        if side in OWN_NETWORKS and not interface.is_named:
            yield Fact(SERVICE_NETWORK, f"{project.uuid} {side}", True)
    given = service.service_instance_properties
    count = max(given.scale_out.max_instances, 1)
    if count > MOST_MACHINES:
        message = f"its max_instances is {count}; machines are made for at most {MOST_MACHINES}, and here for none"
        ctx.problem("TooManyMachines", message)
        return
    address_mode = given.ha_mode or (ACTIVE_ACTIVE if count > 1 else ACTIVE_STANDBY)
    shared = {one.service_interface_type for one in template.interface_type if one.shared_ip}
    networks, group = _networks(declared, ctx), _group(service, project, ctx)
    ports: dict[str, list[ResourceClaim]] = {side: [] for side in networks}
    for number in range(1, count + 1):
        machine = service.owned("virtual_machine", (f"{prefix}__{number}",))
        yield machine
        yield refer(machine, service)
        for side, network in networks.items():
            properties: dict[str, Any] = {"service_interface_type": side}
            if given.ha_mode == ACTIVE_STANDBY:
                properties["local_preference"] = PREFERRED if number == 1 else OTHERS
            port = service.child_of(
                project,
                "virtual_machine_interface",
                f"{machine.name.fq_name[0]}__{side}__{declared[side].position + 1}",
                virtual_machine_interface_properties=properties,
            )
            ports[side].append(port)
            yield port
            targets = (network, machine, group) if group is not None else (network, machine)
            yield from (refer(port, target) for target in targets)
    for side, network in networks.items():
        # An address stays in its network: another network, another name.
        end = f"-{side}-{network.uuid}"
        own = [(f"{prefix}__{number}{end}", [port]) for number, port in enumerate(ports[side], 1)]
        for name, using in [(f"{prefix}{end}", ports[side])] if side in shared else own:
            yield from _addresses(service, name, network, using, address_mode)
        yield from _routes(service, project, declared[side], ports[side])


def _networks(declared: dict[str, Interface], ctx: Context) -> dict[str, View]:
    """Type of interface → its network, of those that exist."""
    found = {
        side: ctx.find("virtual_network", tuple(one.network.split(":")))
        for side, one in declared.items()
        if one.network
    }
    return {side: network for side, network in found.items() if network is not None}


def _group(service: View, project: View, ctx: Context) -> View | None:
    """The security group in which the ports are."""
    if mode(service) not in {IN_NETWORK, TRANSLATING} or project.name == NO_TENANT:
        return None
    return ctx.find("security_group", (*project.fq_name, "default"))


def _addresses(
    service: Intent, name: str, network: View, ports: list[ResourceClaim], address_mode: str
) -> Iterator[Claim]:
    """An address of each family that the network has, for ``ports``."""
    for version, family in FAMILIES:
        if prefixes(network, version):
            address = service.owned(
                "instance_ip",
                (name if version == 4 else f"{name}-{family}",),
                instance_ip_family=family,
                instance_ip_mode=address_mode,
                service_instance_ip=True,
            )
            yield address
            yield refer(address, network)
            yield from (refer(address, port) for port in ports)


def _routes(service: Intent, project: View, interface: Interface, ports: list[ResourceClaim]) -> Iterator[Claim]:
    """The static routes of an interface, as a table to which its ports refer."""
    routes = service.service_instance_properties.interface_list[interface.position].static_routes
    if routes.route:
        name = f"{service.uuid} {interface.side}"
        table = service.child_of(project, "interface_route_table", name, interface_route_table_routes=routes)
        yield table
        for port in ports:
            yield refer(port, table)


SUBNETS = {
    "management": ("10.250.1.", "fd12:3456:789a:1::"),
    "left": ("10.250.2.", "fd12:3456:789a:2::"),
    "right": ("10.250.3.", "fd12:3456:789a:3::"),
}
"""Type of interface → the beginnings of its IPv4 and IPv6 addresses, 24 and 64 bits."""


class ServiceNetworkIntent(Intent):
    """A fact; its name is the uuid of the project, and the type of interface."""

    kind = SERVICE_NETWORK

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        of_project, side = self.name.split(" ")
        project = ctx.get("project", of_project)
        if project is None or ctx.is_taken("virtual_network", (*project.fq_name, OWN_NETWORKS[side])):
            return
        network = self.child_of(project, "virtual_network", OWN_NETWORKS[side])
        version4, version6 = SUBNETS[side]
        subnets = [
            # All that the server would fill in.
            {
                "subnet": {"ip_prefix": prefix, "ip_prefix_len": length},
                "subnet_uuid": str(uuid5(UUID(of_project), prefix)),
                "default_gateway": gateway,
                "dns_server_address": service,
            }
            for prefix, length, gateway, service in (
                (f"{version4}0", 24, f"{version4}254", f"{version4}253"),
                (version6, 64, f"{version6[:-1]}ffff:ffff:ffff:fffe", f"{version6[:-1]}ffff:ffff:ffff:fffd"),
            )
        ]
        yield network
        yield refer(network, SHARED_IPAM, ipam_subnets=subnets)
