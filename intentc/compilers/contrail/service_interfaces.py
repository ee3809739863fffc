"""What ports get from the service instances to which they belong by their port tuples: route tables, health checks and
allowed address pairs of the service's interface (docs/contrail.md D.8.9).

A port belongs to an interface by its type. The service's own addresses are the business of ``service_addresses.py``. It
reads and gives reasons through ``ctx``, and returns claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from intentc import Claim, Context, Source, View, assign, refer

from .service_ports import Interface, interfaces

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


def attached(service: View, kind: str) -> Iterator[tuple[View, Any]]:
    """The resources of ``kind`` that refer to ``service``, with the attribute of that reference."""
    for resource in service.back_references(kind):
        for target, attribute in resource.reference_attributes("service_instance"):
            if target.uuid == service.uuid:
                yield resource, attribute
