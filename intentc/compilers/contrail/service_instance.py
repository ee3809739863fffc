"""A service instance: the static routes that lead to it (docs/contrail.md D.9), the policy that it may have (D.8.6),
its addresses (D.8.9), and the machines of one of version 1 (D.8.10). ``service_chain.py`` makes chains of it.

The server gives the addresses, which the ports of all its port tuples share: from the IPAM of service chains for the
service itself, from the ports' network for health checks that reach from end to end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from intentc import Claim, Context, Fact, Intent, ResourceClaim, Source, View, assign, refer

from .automatic_policy import automatic_policy_facts
from .instance_ip import prefixes
from .route_target_sources import explained
from .service_machines import service_machines
from .service_ports import ACTIVE_ACTIVE, ACTIVE_STANDBY, FAMILIES, VISIBLE, Interface, attached, interfaces
from .service_routes import leading_routes
from .transparent_service import CHAIN_IPAM

END_TO_END = "end-to-end"


def service_addresses(service: Intent, ctx: Context) -> Iterator[Claim]:
    """The instance IPs of the service for each interface that has ports."""
    for interface, ports in _with_ports(service):
        for _, family in FAMILIES:
            name = f"{service.uuid}-{interface.side}-{family}"
            address = service.owned(
                "instance_ip",
                (name,),
                instance_ip_family=family,
                instance_ip_secondary=True,
                service_instance_ip=True,
                **_tracking(interface),
            )
            claims: list[Claim] = [
                address,
                assign(address, VISIBLE, False),
                refer(address, CHAIN_IPAM),
                refer(service, address, interface_type=interface.side),
            ]
            yield from _explained(claims, ports, ctx)
            yield from _at_ports(address, ports, ctx)
        yield from _of_health_checks(service, interface, ports, ctx)


def _of_health_checks(
    service: Intent, interface: Interface, ports: list[tuple[View, Source]], ctx: Context
) -> Iterator[Claim]:
    """An address of each family that the network of the first port has, for each health check from end to end."""
    networks = ports[0][0].references("virtual_network")[:1]
    for check, attribute in attached(service, "service_health_check"):
        kind = check.service_health_check_properties.health_check_type
        if attribute.interface_type != interface.side or kind != END_TO_END:
            continue
        named = Source.of(check, f"service_instance_refs[{':'.join(service.fq_name)}]")
        for network in networks:
            for version, family in FAMILIES:
                if not prefixes(network, version):
                    continue
                address = service.owned(
                    "instance_ip",
                    # An address stays in its network: another network, another name.
                    (f"{service.uuid}-{interface.side}-{family}-health-check-{check.uuid}-{network.uuid}",),
                    instance_ip_family=family,
                    instance_ip_secondary=True,
                    instance_ip_mode=ACTIVE_ACTIVE,
                    service_health_check_ip=True,
                )
                yield from _explained([address, refer(address, network)], ports[:1], ctx, named)
                yield from _at_ports(address, ports, ctx, named)


def _at_ports(address: ResourceClaim, ports: list[tuple[View, Source]], ctx: Context, *more: Source) -> Iterator[Claim]:
    for port, source in ports:
        yield from _explained([refer(address, port)], [(port, source)], ctx, *more)


def _explained(claims: list[Claim], ports: list[tuple[View, Source]], ctx: Context, *more: Source) -> Iterator[Claim]:
    """``claims``, each because of any of ``ports``."""
    return (explained(ctx, claim, ((source, *more) for _, source in ports)) for claim in claims)


def _with_ports(service: View) -> Iterator[tuple[Interface, list[tuple[View, Source]]]]:
    """The interfaces that have ports, each with these, by the names of the port tuples and of the ports, and with the
    reference to the port tuple that says so."""
    declared = interfaces(service)
    found: dict[str, dict[str, tuple[View, Source]]] = {}
    for host in service.children("port_tuple") if declared else ():
        for port in host.back_references("virtual_machine_interface"):
            side = port.virtual_machine_interface_properties.service_interface_type
            if side in declared:
                source = Source.of(port, f"port_tuple_refs[{':'.join(host.fq_name)}]")
                found.setdefault(side, {}).setdefault(port.uuid, (port, source))
    for side, ports in found.items():
        yield declared[side], list(ports.values())


def _tracking(interface: Interface) -> dict[str, Any]:
    """Which other address the service's follows: that of the first allowed address pair, if there is one."""
    if not interface.pairs:
        return {"instance_ip_mode": ACTIVE_ACTIVE}
    pair = interface.pairs[0]
    return {"instance_ip_mode": pair.address_mode or ACTIVE_STANDBY, "secondary_ip_tracking_ip": pair.ip}


class ServiceInstanceIntent(Intent):
    kind = "service_instance"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        yield from leading_routes(self, ctx)
        yield from automatic_policy_facts(self, ctx)
        yield from service_addresses(self, ctx)
        yield from service_machines(self, ctx)
