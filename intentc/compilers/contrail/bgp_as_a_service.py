"""BGP as a service: machines behind interfaces speak BGP with the control nodes (docs/contrail.md D.13).

Each interface of a service gets a client router below the primary routing instance of its network; a shared service has
one client for all its interfaces. All clients of an instance refer to one server router, which exists while any service
has a client there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import NamedTuple

from intentc import Claim, Context, Fact, Intent, Name, Source, View, refer

from .instance_ip import gateway, primary_address
from .route_targets import primary_routing_instance

PORT_POOL = "bgpaas_port"
"""The API server's pool of source ports (docs/contrail.md B.6)."""

SERVED = "bgp_server"
"""The fact that a routing instance (its uuid is the name) has clients."""

SERVER = "bgpaas-server"
CLIENT_TYPE = "bgpaas-client"


class Attachment(NamedTuple):
    """An interface of the service, its network, and the network's primary routing instance."""

    interface: View
    network: View
    instance: View


class BgpAsAServiceIntent(Intent):
    kind = "bgp_as_a_service"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        attachments = list(self._attachments(ctx))
        if not attachments:
            return
        if not self.autonomous_system:
            ctx.problem("NoAutonomousSystem", "it has no autonomous_system; set the one of the machines")
            return
        if not self.bgpaas_shared:
            for attachment in attachments:
                yield from self._client(attachment.interface.name, [attachment], [attachment.interface], ctx)
        elif self.bgpaas_ip_address:
            # The first one decides on the place; those after it in the same place would do as well.
            same = list(takewhile(lambda other: other.instance.uuid == attachments[0].instance.uuid, attachments))
            yield from self._client(self.name, same, self.references("virtual_machine_interface"), ctx)
        else:
            ctx.problem("NoAddress", "it is shared and has no bgpaas_ip_address; set it")

    def _attachments(self, ctx: Context) -> Iterator[Attachment]:
        for interface in self.references("virtual_machine_interface"):
            for network in interface.references("virtual_network")[:1]:
                instance = primary_routing_instance(network, ctx)
                if instance is not None:
                    yield Attachment(interface, network, instance)

    def _client(
        self, name: str, attachments: list[Attachment], interfaces: Iterable[View], ctx: Context
    ) -> Iterator[Claim | Fact]:
        """The client router called ``name``, and all references from and to it. ``attachments``: each is a reason for
        it; the first one gives the addresses."""
        interface, network, instance = attachments[0]
        # An interface that moves to another network has another client, with a port of its own.
        purpose = f"source_port.{instance.uuid}.{'' if self.bgpaas_shared else interface.uuid}"
        parameters = {
            "router_type": CLIENT_TYPE,
            "autonomous_system": self.autonomous_system,
            "source_port": ctx.allocate(PORT_POOL, purpose),
            **self._addresses(interface, network),
        }
        client = self.child_of(instance, "bgp_router", name, bgp_router_parameters=parameters)
        server = Name("bgp_router", (*instance.fq_name, SERVER))
        # The attribute of the references between client and server.
        session = self.bgpaas_session_attributes
        peering = {"session": [{"attributes": [session]}]} if session else {}
        common: list[Claim] = [
            client,
            refer(client, server, **peering),
            refer(server, client, **peering),
            refer(self, client),
        ]
        for claim in common:
            self._explain(claim, attachments, ctx)
            yield claim
        for each in interfaces:
            reference = refer(each, client)
            self._explain(reference, attachments, ctx, self._named(each))
            yield reference
        yield Fact(SERVED, instance.uuid, True)

    def _explain(self, claim: Claim, attachments: list[Attachment], ctx: Context, *more: Source) -> None:
        for interface, network, _ in attachments if ctx.explaining else ():
            stands = Source.of(interface, f"virtual_network_refs[{':'.join(network.fq_name)}]")
            ctx.because(claim, *dict.fromkeys((self._named(interface), stands, *more)))

    def _named(self, interface: View) -> Source:
        return Source.of(self, f"virtual_machine_interface_refs[{':'.join(interface.fq_name)}]")

    def _addresses(self, interface: View, network: View) -> dict[str, str]:
        """The client's address and gateways."""
        address4, address6 = (primary_address(interface, version) for version in (4, 6))
        address = self.bgpaas_ip_address or address4
        found = {"address": address, "identifier": address}
        if not self.bgpaas_suppress_route_advertisement:
            gateway4 = gateway(network, address4)
            mapped = f"::ffff:{gateway4}" if gateway4 else ""
            found["gateway_address"] = gateway4
            found["ipv6_gateway_address"] = (
                mapped if self.bgpaas_ipv4_mapped_ipv6_nexthop else gateway(network, address6)
            )
        return found


class BgpServerIntent(Intent):
    """A fact; its name is the uuid of the routing instance."""

    kind = SERVED

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        instance = ctx.get("routing_instance", self.name)
        if instance is not None:
            yield self.child_of(instance, "bgp_router", SERVER, bgp_router_parameters={"router_type": SERVER})
