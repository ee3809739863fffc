"""A router in snat mode joins its networks by route targets on their primary routing instances (D.7.1, D.7.2).

It has a route target of its own, or the one that a user lets it refer to. When a network, an interface or the router
itself goes, so do the claims, and with them the references. In vxlan mode the instances are joined otherwise, and only
the own target remains (D.7.3).
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent, ResourceClaim, View, refer

from .route_targets import BOTH, configured_claims, own_route_target, primary_routing_instance, well_formed


class LogicalRouterIntent(Intent):
    kind = "logical_router"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        given = self.references("route_target")
        target: View | ResourceClaim | None
        if given:
            target = given[0]
        else:
            target = own = own_route_target(self, ctx)
            if own is not None:
                yield own
                yield refer(self, own)
        if self._vxlan():
            return
        instances = self._instances(ctx)
        for instance in instances:
            if target is not None:
                yield refer(instance, target)
        configured = well_formed(
            self.configured_route_target_list.route_target, "configured_route_target_list", ctx
        ) - {_text(target)}
        yield from configured_claims(instances, dict.fromkeys(sorted(configured), BOTH))

    def _vxlan(self) -> bool:
        """By the project's setting, or by the router's own type; a project that isn't there sets nothing."""
        project = self.parent()
        return self.logical_router_type == "vxlan-routing" or bool(project and project.vxlan_routing)

    def _instances(self, ctx: Context) -> list[View]:
        """The primary routing instances of the networks of its interfaces. An interface stands in one network; of
        several the first by name counts."""
        networks: dict[str, View] = {}
        for interface in self.references("virtual_machine_interface"):
            for network in interface.references("virtual_network")[:1]:
                networks[network.uuid] = network
        found = (primary_routing_instance(network, ctx) for network in networks.values())
        return [instance for instance in found if instance is not None]


def _text(target: View | ResourceClaim | None) -> str:
    """A route target as lists name it."""
    if target is None:
        return ""
    return (target.name.fq_name if isinstance(target, ResourceClaim) else target.fq_name)[-1]
