"""Mirrored traffic: where a service instance receives it, and the ports that mirror to one (docs/contrail.md D.8.7).

The address is a fact that networks yield whose rules name the service as analyzer, and ports that are mirrored to it,
and an intent while any does. So a network reads one value of an analyzer, and runs again when the analyzer gets another
address.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent, Source, View, assign

from .connected_networks import Wanted, connection_facts
from .instance_ip import primary_address, service_address
from .network_rules import PORT
from .policy_rules import Analyzer
from .service_ports import LEFT, hosts

MIRRORING, DESTINATION = "mirroring_service", "mirror_destination"
"""Facts: rules of a network, or ports, mirror to a service; (network, address) of its left port."""


class MirroringServiceIntent(Intent):
    """A fact; its name is that of the service instance."""

    kind = MIRRORING

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        service = ctx.find("service_instance", tuple(self.name.split(":")))
        ports = _left_ports(service) if service is not None else []
        for port in ports[:1]:
            # IPv6 if only its IPv6 address is primary, else IPv4 rather than IPv6.
            versions = (6, 4) if primary_address(port, 6) and not primary_address(port, 4) else (4, 6)
            address = next((address for version in versions if (address := service_address(port, version))), "")
            for network in port.references("virtual_network")[:1]:
                yield Fact(DESTINATION, self.name, Analyzer(":".join(network.fq_name), address))


def _left_ports(service: View) -> list[View]:
    """The left ports of what the service runs on, by name."""
    return [
        port
        for host in hosts(service)
        for port in host.back_references("virtual_machine_interface")
        if port.virtual_machine_interface_properties.service_interface_type == LEFT
    ]


MIRROR = "virtual_machine_interface_properties.interface_mirror"

ADDRESS = f"{MIRROR}.mirror_to.analyzer_ip_address"


def interface_mirror(port: View, ctx: Context) -> Iterator[Claim | Fact]:
    """The address of the port's analyzer, none while that has none, and links with its network, while the port names
    one."""
    service = port.virtual_machine_interface_properties.interface_mirror.mirror_to.analyzer_name
    if len(service.split(":")) != 3:
        return  # No name of a service instance: the address of any other analyzer is the user's.
    yield Fact(MIRRORING, service, True)
    analyzer, address = ctx.fact(DESTINATION, service) or ("", "")
    claim = assign(port, ADDRESS, address)
    named = (Source("service_instance", service),) if address else ()
    ctx.because(claim, Source.of(port, MIRROR), *named)
    yield claim
    if not analyzer:
        return
    for network in port.references("virtual_network")[:1]:
        me = ":".join(network.fq_name)
        if me != analyzer:
            wished = {analyzer: ((me, ":".join(port.fq_name), PORT),)}
            yield from connection_facts(me, Wanted(wished, (), wished))
