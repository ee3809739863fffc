"""Where a service instance receives the traffic that is mirrored to it (docs/contrail.md D.8.7).

It is a fact that networks yield whose rules name the service as analyzer, and ports that are mirrored to it, and an
intent while any does. So a network reads one value of an analyzer, whatever that consists of, and runs again when the
analyzer gets another address.

It reads through ``ctx``, and yields facts.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent, View

from .network_addresses import primary_address, service_address
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
            for network in port.references("virtual_network")[:1]:
                yield Fact(DESTINATION, self.name, (":".join(network.fq_name), _address(port)))


def _left_ports(service: View) -> list[View]:
    """The left ports of what the service runs on, by name."""
    return [
        port
        for host in hosts(service)
        for port in host.back_references("virtual_machine_interface")
        if port.virtual_machine_interface_properties.service_interface_type == LEFT
    ]


def _address(port: View) -> str:
    """The port's service address: IPv6 if only its IPv6 address is primary, else IPv4 rather than IPv6."""
    versions = (6, 4) if primary_address(port, 6) and not primary_address(port, 4) else (4, 6)
    return next((address for version in versions if (address := service_address(port, version))), "")
