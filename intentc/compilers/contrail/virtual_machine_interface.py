"""An interface of a service has a table of the chains that lead through it (docs/contrail.md D.8.8), and gets what the
service gives to its ports (D.8.9). One that is mirrored gets the address of its analyzer (D.8.7); one that uses SR-IOV
needs a port group at the switch (D.16).

A packet that leaves a service enters the routing instance of the chain to which it belongs by its protocol and ports;
one that the port's own machine sends enters the network's. Ports of transparent services have no table:
``transparent_service.py`` has what leads their packets.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, NamedTuple

from intentc import Claim, Context, Fact, Intent, Source, View, assign, refer

from .mirroring_service import interface_mirror
from .route_target_sources import Reasons, explained
from .route_targets import primary_name
from .service_chain import STANDING
from .service_ports import LEFT, RIGHT, Interface, attached, interfaces
from .service_routes import Route
from .sriov_port_group import port_group_facts

FOR_PORTS = ("interface_route_table", "service_health_check")
"""The kinds of which each refers to a service with the type of an interface, and whose objects its ports refer to."""

PAIRS = "virtual_machine_interface_allowed_address_pairs.allowed_address_pair"


class Belonging(NamedTuple):
    """An interface of a service to which a port belongs, and the reference that says so."""

    service: View
    interface: Interface
    source: Source


def belongings(port: View) -> list[Belonging]:
    """The interfaces to which ``port`` belongs, by the names of its port tuples; each once."""
    side = port.virtual_machine_interface_properties.service_interface_type
    found: dict[str, Belonging] = {}
    for host in port.references("port_tuple") if side else ():
        service = host.parent()
        interface = interfaces(service).get(side) if service is not None else None
        if service is not None and interface is not None:
            source = Source.of(port, f"port_tuple_refs[{':'.join(host.fq_name)}]")
            found.setdefault(service.uuid, Belonging(service, interface, source))
    return list(found.values())


def of_services(port: View, ctx: Context) -> Iterator[Claim]:
    """What ``port`` gets from its services."""
    found = belongings(port)
    for belonging in found:
        name = ":".join(belonging.service.fq_name)
        for kind in FOR_PORTS:
            for resource, attribute in attached(belonging.service, kind):
                if attribute.interface_type == belonging.interface.side:
                    claim = refer(port, resource, of_service=True)
                    ctx.because(claim, belonging.source, Source.of(resource, f"service_instance_refs[{name}]"))
                    yield claim
    if found:
        pairs: dict[Any, list[Source]] = {}
        for belonging in found:
            for position, pair in enumerate(belonging.interface.pairs):
                path = f"interface_list[{belonging.interface.position}].allowed_address_pairs"
                place = f"service_instance_properties.{path}.allowed_address_pair[{position}]"
                pairs.setdefault(pair, [belonging.source, Source.of(belonging.service, place)])
        allowed = assign(port, PAIRS, tuple(pairs))
        for position, sources in enumerate(pairs.values()):
            ctx.because(allowed, *sources, part=f"{PAIRS}[{position}]")
        ctx.because(allowed, found[0].source)
        yield allowed


TABLE = "vrf_assign_table"

EVERY_PORT = {"end_port": 65535}

ADDRESSES = {
    "instance_ip": "instance_ip_address",
    "floating_ip": "floating_ip_address",
    "alias_ip": "alias_ip_address",
}
"""The kinds of addresses of a port, in the table's order, with the property that holds the address."""


def vrf_assign_table(port: View, ctx: Context) -> Iterator[Claim]:
    """The table of a left or right port of services, while chains need it."""
    side = port.virtual_machine_interface_properties.service_interface_type
    networks = port.references("virtual_network")[:1]
    if side not in (LEFT, RIGHT) or not networks:
        return
    chained = [rule for name, source in _services(port) for rule in _chain_rules(name, source, side, networks[0], ctx)]
    if not chained:
        return
    stands = Source.of(port, f"virtual_network_refs[{':'.join(networks[0].fq_name)}]")
    whole = [(*reason, stands) for rule in chained for reason in rule.reasons]
    rules = [
        *_address_rules(port, networks[0], whole),
        *(Route(rule.entry, [(*r, stands) for r in rule.reasons]) for rule in chained),
    ]
    claim = assign(port, TABLE, {"vrf_assign_rule": [rule.entry for rule in rules]})
    for position, rule in enumerate(rules):
        explained(ctx, claim, rule.reasons, f"{TABLE}.vrf_assign_rule[{position}]")
    yield explained(ctx, claim, whole)


def _services(port: View) -> Iterator[tuple[str, Source]]:
    """The services that the port belongs to, each once, by its port tuples and then its machines, with the reference
    that says so."""
    found: dict[str, Source] = {}
    for host in port.references("port_tuple"):
        found.setdefault(":".join(host.fq_name[:-1]), Source.of(port, f"port_tuple_refs[{':'.join(host.fq_name)}]"))
    for machine in port.references("virtual_machine"):
        for service in machine.references("service_instance")[:1]:
            source = Source.of(port, f"virtual_machine_refs[{':'.join(machine.fq_name)}]")
            found.setdefault(":".join(service.fq_name), source)
    yield from found.items()


def _address_rules(port: View, network: View, reasons: Reasons) -> Iterator[Route]:
    """What the port itself sends stays in its network."""
    for kind, field in ADDRESSES.items():
        for resource in port.back_references(kind):
            try:
                address = ipaddress.ip_interface(resource.field(field)).ip
            except ValueError:
                continue
            match = {
                "src_address": {"subnet": {"ip_prefix": str(address), "ip_prefix_len": address.max_prefixlen}},
                "protocol": "any",
                "src_port": EVERY_PORT,
                "dst_port": EVERY_PORT,
            }
            entry = {"match_condition": match, "routing_instance": ":".join(primary_name(network))}
            yield Route(entry, [(*reason, Source.of(resource)) for reason in reasons])


def _chain_rules(service: str, belongs: Source, side: str, network: View, ctx: Context) -> Iterator[Route]:
    """The rules for the chains of the port's network through a service, except those that begin or end at the port."""
    name = ":".join(network.fq_name)
    for _, (chain, instances, is_transparent, why) in ctx.contributions(STANDING, service):
        end = chain.services[0 if side == LEFT else -1]
        instance = chain.routing_instance(name, service)
        if is_transparent or service == end or instance not in instances:
            continue
        reasons = [(*reason, belongs) for reason in why]
        for source, destination in product(chain.source_ports, chain.destination_ports):
            ports = (destination, source) if side == LEFT else (source, destination)
            first, second = ({"start_port": start, "end_port": last} for start, last in ports)
            match = {"protocol": chain.protocol, "src_port": first, "dst_port": second}
            entry = {"match_condition": match, "routing_instance": instance, "ignore_acl": True}
            yield Route(entry, list(reasons))


class VirtualMachineInterfaceIntent(Intent):
    kind = "virtual_machine_interface"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        yield from vrf_assign_table(self, ctx)
        yield from of_services(self, ctx)
        yield from port_group_facts(self, ctx)
        yield from interface_mirror(self, ctx)
