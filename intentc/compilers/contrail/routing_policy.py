"""Routing policies and route aggregates of service instances refer to routing instances of the chains through these
(docs/contrail.md D.10). The references of policies to primary ones follow from networks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent, Name, Source, assign, refer

from .instance_ip import version_of
from .route_target_sources import Reasons, explained
from .service_chain import ADDRESSES, STANDING
from .service_ports import LEFT, RIGHT


class RoutingPolicyIntent(Intent):
    kind = "routing_policy"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        for service, attribute in self.reference_attributes("service_instance"):
            name = ":".join(service.fq_name)
            named = Source.of(self, f"service_instance_refs[{name}]")
            for _, (chain, instances, _, reasons) in ctx.contributions(STANDING, name):
                for network, sequence in (
                    (chain.left, attribute.left_sequence),
                    (chain.right, attribute.right_sequence),
                ):
                    instance = chain.routing_instance(network, name)
                    if sequence and instance in instances:
                        claim = refer(self, Name("routing_instance", tuple(instance.split(":"))), sequence=sequence)
                        yield explained(ctx, claim, ((*reason, named) for reason in reasons))


class RouteAggregateIntent(Intent):
    kind = "route_aggregate"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        # It has one next hop, so of several chains the first one counts.
        for instance, address, reasons in self._places(ctx):
            yield explained(ctx, refer(self, Name("routing_instance", tuple(instance.split(":")))), reasons)
            yield explained(ctx, assign(self, "aggregate_route_nexthop", address), reasons)
            return

    def _places(self, ctx: Context) -> Iterator[tuple[str, str, Reasons]]:
        """(routing instance of a chain, its service chain address, why it is there), by the services' names, then by
        the chains' uuids."""
        routes = self.aggregate_route_entries.route
        version = version_of(routes[0]) if routes else 0
        if not version:
            return
        first = Source.of(self, "aggregate_route_entries.route[0]")
        for service, attribute in self.reference_attributes("service_instance"):
            if attribute.interface_type not in (LEFT, RIGHT):
                continue
            name = ":".join(service.fq_name)
            named = Source.of(self, f"service_instance_refs[{name}]")
            standing = (value for _, value in ctx.contributions(STANDING, name))
            for chain, instances, _, reasons in sorted(standing, key=lambda value: str(value[0].uuid)):
                network = chain.left if attribute.interface_type == LEFT else chain.right
                instance = chain.routing_instance(network, name)
                addresses = (ctx.fact(ADDRESSES, instance) or ("", "")) if instance in instances else ("", "")
                address = addresses[0 if version == 4 else 1]
                if address:
                    why = [(*reason, named, first) for reason in reasons]
                    yield instance, address, why
