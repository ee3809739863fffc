"""The mirror of a port: its traffic is copied to the address of a service instance (docs/contrail.md D.8.7).

The port's network and that of the service are linked, as those of a rule that mirrors. Where a service receives
mirrored traffic is the business of ``mirroring_service.py``.

It reads and gives reasons through ``ctx``, and returns claims and facts.
"""

from __future__ import annotations

from collections.abc import Iterator

from intentc import Claim, Context, Fact, Source, View, assign

from .connections import analyzer_facts
from .mirroring_service import DESTINATION, MIRRORING
from .rule_sources import PORT

MIRROR = "virtual_machine_interface_properties.interface_mirror"

ADDRESS = f"{MIRROR}.mirror_to.analyzer_ip_address"


def is_service(analyzer: str) -> bool:
    """Whether the name of an analyzer has the form of a service instance's; the address of any other is the user's."""
    return len(analyzer.split(":")) == 3


def interface_mirror(port: View, ctx: Context) -> Iterator[Claim | Fact]:
    """The address of the port's analyzer, none while that has none, and links with its network, while the port names
    one."""
    service = port.virtual_machine_interface_properties.interface_mirror.mirror_to.analyzer_name
    if not is_service(service):
        return
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
            yield from analyzer_facts(me, {analyzer: ((me, ":".join(port.fq_name), PORT),)})
