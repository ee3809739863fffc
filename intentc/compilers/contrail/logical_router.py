"""A router joins networks by route targets on their primary routing instances (docs/contrail.md D.7, D.11).

It has a route target of its own, or the one that a user lets it refer to. In snat mode that one, its configured list
and those of its BGP VPNs join the networks of its interfaces. In vxlan mode an internal network, which the API server
creates, carries its routes: only the lists are put there. When a network, an interface or the router is deleted, its
claims disappear, and with them the references.

With an external gateway, in snat mode, it makes a service that translates the addresses of its networks (D.7.4): the
service, its left network and the table whose route leads to it. The static routes follow from these, as from any
(``service_routes.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import UUID, uuid5

from intentc import Claim, Context, Fact, Intent, Name, ResourceClaim, Source, View, assign, refer

from .instance_ip import IPAM, SHARED_IPAM
from .route_target_sources import Reasons, RouterReasons, bgpvpn_reasons, listed_reasons, own_reasons, with_reasons
from .route_targets import (
    BOTH,
    bgpvpn_directions,
    configured_claims,
    effective,
    own_route_target,
    primary_routing_instance,
    united,
)
from .service_ports import VISIBLE
from .service_routes import routed_table, routed_tables

TEMPLATE = Name("service_template", ("default-domain", "netns-snat-template"))
"""Its interfaces are the right and the left one, in this order."""

SUBNET, LENGTH, GATEWAY, SERVICE_ADDRESS = "100.64.0.0", 29, "100.64.0.6", "100.64.0.5"
EVERYWHERE = "0.0.0.0/0"


def source_nat(router: Intent, targets: Iterable[tuple[str, bool, Reasons]], ctx: Context) -> Iterator[Claim | Fact]:
    """What ``router`` makes for its gateway. ``targets``: its route targets, as ``routed_tables`` has them."""
    project, gateway = router.parent(), external_gateway(router)
    if project is None or gateway is None:
        return
    name = f"snat_{router.uuid}_{uuid5(UUID(router.uuid), 'snat')}"
    service_name, left_name = (":".join((*project.fq_name, part)) for part in (name, f"snat-si-left_{name}"))
    left = router.child_of(project, "virtual_network", f"snat-si-left_{name}")
    own = ctx.find("network_ipam", (*project.fq_name, IPAM))
    subnet = {
        "subnet": {"ip_prefix": SUBNET, "ip_prefix_len": LENGTH},
        # All that the server would fill in.
        "subnet_uuid": str(uuid5(UUID(router.uuid), SUBNET)),
        "default_gateway": GATEWAY,
        "dns_server_address": SERVICE_ADDRESS,
    }
    properties = {
        "interface_list": [{"virtual_network": ":".join(gateway.fq_name)}, {"virtual_network": left_name}],
        "scale_out": {"max_instances": 2, "auto_scale": True},
        "ha_mode": "active-standby",
    }
    service = router.child_of(project, "service_instance", name, service_instance_properties=properties)
    route = {"prefix": EVERYWHERE, "next_hop": service_name}
    table = router.child_of(project, "route_table", f"rt_{router.uuid}", routes={"route": [route]})
    attached = Source.of(router, f"virtual_network_refs[{':'.join(gateway.fq_name)}]")
    for claim in (
        left,
        assign(left, VISIBLE, False),
        refer(left, own if own is not None else SHARED_IPAM, ipam_subnets=[subnet]),
        service,
        refer(service, TEMPLATE),
        table,
        refer(router, table),
        refer(router, service),
    ):
        ctx.because(claim, attached)
        yield claim
    # Nobody reads a reference of ours, so the table learns of the router here.
    yield routed_table(":".join((*project.fq_name, f"rt_{router.uuid}")), targets, attached)


def external_gateway(router: View) -> View | None:
    """The first network, by name, to which the router refers and which is not its internal one."""
    for network, attribute in router.reference_attributes("virtual_network"):
        if attribute.logical_router_virtual_network_type != INTERNAL_NETWORK:
            return network
    return None


CONFIGURED = "configured_route_target_list"
INTERNAL_NETWORK = "InternalVirtualNetwork"


class LogicalRouterIntent(Intent):
    kind = "logical_router"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        given = self._given(ctx)
        target = given[0] if given else own_route_target(self, ctx)
        if isinstance(target, ResourceClaim):
            yield from with_reasons(ctx, (target, refer(self, target)), lambda *_: own_reasons(self, ctx))
        configured = effective(self, CONFIGURED, self.field(CONFIGURED).route_target, ctx)
        of_tables = list(self._of_tables(given, _text(target), configured, ctx))
        yield from routed_tables(self, of_tables)
        listed = united(dict.fromkeys(configured, BOTH), bgpvpn_directions(self, ctx))
        project = self.parent()
        if self.logical_router_type == "vxlan-routing" or (project and project.vxlan_routing):
            claims = configured_claims(_instances(self._internal_networks(), ctx), listed)
            yield from with_reasons(ctx, claims, lambda text, _: self._listed(text))
            return
        yield from source_nat(self, of_tables, ctx)
        attachments = self._attachments()
        instances = _instances((network for _, network in attachments), ctx)
        why = RouterReasons(self, attachments, instances)
        if target is not None:
            joining = [refer(instance, target) for instance in instances]
            had = self._had if given else lambda text: own_reasons(self, ctx) + self._listed(text)
            yield from with_reasons(ctx, joining, lambda text, holder: why.reasons(had(text), holder))
        others = {text: direction for text, direction in listed.items() if text != _text(target)}
        claims = configured_claims(instances, others)
        yield from with_reasons(ctx, claims, lambda text, holder: why.reasons(self._listed(text), holder))

    def _of_tables(
        self, given: list[View], own: str, configured: set[str], ctx: Context
    ) -> Iterator[tuple[str, bool, Reasons]]:
        """The targets of routes of its tables, with reasons: its own one, and its configured list."""
        for text in configured - {own}:
            yield text, True, listed_reasons(self, [CONFIGURED], text)
        if own:
            yield own, False, self._had(own) if given else own_reasons(self, ctx)

    def _attachments(self) -> list[tuple[View, View]]:
        """(interface, its network). An interface has one network; of several the first by name is used."""
        return [
            (interface, network)
            for interface in self.references("virtual_machine_interface")
            for network in interface.references("virtual_network")[:1]
        ]

    def _internal_networks(self) -> list[View]:
        """The network that the server created for it in vxlan mode, if it is there."""
        return [
            network
            for network, attribute in self.reference_attributes("virtual_network")
            if attribute.logical_router_virtual_network_type == INTERNAL_NETWORK
        ]

    def _given(self, ctx: Context) -> list[View]:
        """The route targets that a user lets it refer to, by name.

        Those in the compiler's range are left out: their networks may be somebody else's.
        """
        given = self.references("route_target")
        good = effective(self, "route_target_refs", [target.name for target in given], ctx) if given else ()
        return [target for target in given if target.name in good]

    def _had(self, target: str) -> Reasons:
        """Why ``target``, set by a user, joins its networks; a listed target with its name would, too."""
        return [(Source.of(self, f"route_target_refs[{target}]"),), *self._listed(target)]

    def _listed(self, target: str) -> Reasons:
        """The places in the router and its BGP VPNs that list ``target``."""
        return listed_reasons(self, [CONFIGURED], target) + bgpvpn_reasons(self, target)


def _instances(networks: Iterable[View], ctx: Context) -> list[View]:
    """The primary routing instances of ``networks``, each once."""
    different = {network.uuid: network for network in networks}
    found = (primary_routing_instance(network, ctx) for network in different.values())
    return [instance for instance in found if instance is not None]


def _text(target: View | ResourceClaim | None) -> str:
    """A route target as lists contain it."""
    if target is None:
        return ""
    return (target.name.fq_name if isinstance(target, ResourceClaim) else target.fq_name)[-1]
