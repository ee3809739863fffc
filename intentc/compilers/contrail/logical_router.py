"""A router joins networks by route targets on their primary routing instances (docs/contrail.md D.7, D.11).

It has a route target of its own, or the one that a user lets it refer to. In snat mode that one, its configured list
and those of its BGP VPNs join the networks of its interfaces. In vxlan mode an internal network, which the API server
creates, carries its routes: only the lists are put there. When a network, an interface or the router is deleted, its
claims disappear, and with them the references. Its gateway, in snat mode, is the business of ``source_nat.py``. The
targets that the routes of its tables get are yielded for ``service_routes.py``.

It reads, reports problems, requests numbers and gives reasons through ``ctx``, and yields claims and facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent, ResourceClaim, Source, View, refer

from .route_target_sources import Reasons, RouterReasons, bgpvpn_reasons, listed_reasons, own_reasons, with_reasons
from .route_targets import BOTH, configured_claims, effective, own_route_target, primary_routing_instance
from .service_routes import routed_tables
from .source_nat import source_nat
from .target_lists import bgpvpn_directions, united

CONFIGURED = "configured_route_target_list"
INTERNAL = "InternalVirtualNetwork"


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
        if self._is_vxlan():
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

    def _is_vxlan(self) -> bool:
        """By the project's setting, or by the router's own type; a missing project sets nothing."""
        project = self.parent()
        return self.logical_router_type == "vxlan-routing" or bool(project and project.vxlan_routing)

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
            if attribute.logical_router_virtual_network_type == INTERNAL
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
