"""A network puts what users gave it onto its primary routing instance, and its policies into access control lists.

Onto the instance go its lists of route targets and those of its BGP VPNs (docs/contrail.md D.1, D.11), static routes
(D.9), and references of its routing policies (D.10). The access control lists are made in ``network_acl.py`` (D.4),
with the facts from which links (D.3) and service chains (D.8) follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent, Source, View, refer

from .network_acl import network_policies
from .route_target_sources import bgpvpn_reasons, listed_reasons, with_reasons
from .route_targets import (
    LISTS,
    bgpvpn_directions,
    configured_claims,
    list_directions,
    primary_routing_instance,
    united,
)
from .service_routes import static_routes


class ProjectIntent(Intent):
    kind = "project"


class BgpvpnIntent(Intent):
    kind = "bgpvpn"


class VirtualNetworkIntent(Intent):
    kind = "virtual_network"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        directions = united(list_directions(self, ctx), bgpvpn_directions(self, ctx))
        instance = primary_routing_instance(self, ctx)
        claims = configured_claims([instance] if instance else [], directions)
        yield from with_reasons(
            ctx, claims, lambda target, _: listed_reasons(self, LISTS, target) + bgpvpn_reasons(self, target)
        )
        if instance:
            yield from static_routes(self, instance, ctx)
        yield from network_policies(self, ctx)
        yield from _routing_policy_references(self, instance, ctx)


def _routing_policy_references(network: View, instance: View | None, ctx: Context) -> Iterator[Claim]:
    """A reference from each routing policy of ``network`` to ``instance``, its primary one (docs/contrail.md D.10).

    The sequence of the network's reference, which decides the order among policies, is copied. The references of
    policies to the instances of services are the chains' business."""
    if instance is None:
        return
    for policy, attribute in network.reference_attributes("routing_policy"):
        reference = refer(policy, instance, sequence=attribute.sequence)
        ctx.because(reference, Source.of(network, f"routing_policy_refs[{':'.join(policy.fq_name)}]"))
        yield reference
