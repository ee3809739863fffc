"""A router in snat mode joins its networks by route targets on their primary routing instances (docs/contrail.md D.7.1,
D.7.2).

It has a route target of its own, or the one that a user lets it refer to. When a network, an interface or the router is
deleted, its claims disappear, and with them the references. In vxlan mode the instances are joined by an internal
network, and only the router's own target remains (docs/contrail.md D.7.3).
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent, ResourceClaim, Source, View, refer

from .route_target_sources import Reasons, RouterReasons, listed_reasons, own_reasons, with_reasons
from .route_targets import BOTH, configured_claims, effective, own_route_target, primary_routing_instance

CONFIGURED = "configured_route_target_list"


class LogicalRouterIntent(Intent):
    kind = "logical_router"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        given = self._given(ctx)
        target = given[0] if given else own_route_target(self, ctx)
        if isinstance(target, ResourceClaim):
            yield from with_reasons(ctx, (target, refer(self, target)), lambda *_: own_reasons(self, ctx))
        if self._vxlan():
            return
        attachments = self._attachments()
        instances = self._instances(attachments, ctx)
        why = RouterReasons(self, attachments, instances)
        if target is not None:
            joining = [refer(instance, target) for instance in instances]
            had = self._had if given else lambda text: own_reasons(self, ctx) + self._configured(text)
            yield from with_reasons(ctx, joining, lambda text, holder: why.reasons(had(text), holder))
        configured = effective(self.field(CONFIGURED).route_target, CONFIGURED, ctx) - {_text(target)}
        claims = configured_claims(instances, dict.fromkeys(sorted(configured), BOTH))
        yield from with_reasons(ctx, claims, lambda text, holder: why.reasons(self._configured(text), holder))

    def _vxlan(self) -> bool:
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

    @staticmethod
    def _instances(attachments: list[tuple[View, View]], ctx: Context) -> list[View]:
        """The primary routing instances of the networks of its interfaces."""
        networks = {network.uuid: network for _, network in attachments}
        found = (primary_routing_instance(network, ctx) for network in networks.values())
        return [instance for instance in found if instance is not None]

    def _given(self, ctx: Context) -> list[View]:
        """The route targets that a user lets it refer to, by name.

        Those in the compiler's range are left out: their networks may be somebody else's.
        """
        given = self.references("route_target")
        good = effective([target.name for target in given], "route_target_refs", ctx) if given else ()
        return [target for target in given if target.name in good]

    def _had(self, target: str) -> Reasons:
        """Why ``target``, set by a user, joins its networks; a configured target with its name would, too."""
        return [(Source.of(self, f"route_target_refs[{target}]"),), *self._configured(target)]

    def _configured(self, target: str) -> Reasons:
        """The places in the router that configure ``target``."""
        return listed_reasons(self, [CONFIGURED], target)


def _text(target: View | ResourceClaim | None) -> str:
    """A route target as lists contain it."""
    if target is None:
        return ""
    return (target.name.fq_name if isinstance(target, ResourceClaim) else target.fq_name)[-1]
