"""A routing instance, whoever created it, has a route target of its own (docs/contrail.md D.1, D.3), except the two of
the fabric (``WITHOUT_ROUTE_TARGET``), which yield nothing. A primary one is linked with those of the networks that
policies connect (docs/contrail.md D.3), and shares its route target with instances of service chains (docs/contrail.md
D.8.3).

One of a chain that no rule asks for, such as a former compiler's, has no claims: planning deletes it (docs/contrail.md
D.8.3).

Networks and routers claim the other targets of the primary one; planning merges all claims. A user's routing instance
below a deleted network has no claims left: planning deletes it, as the server deletes the primary one.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent, refer

from .connected_networks import links
from .route_target_sources import own_reasons, with_reasons
from .route_targets import WITHOUT_ROUTE_TARGET, own_route_target
from .service_chain import CHAIN, shared_targets
from .service_chain_names import chain_of


class RoutingInstanceIntent(Intent):
    kind = "routing_instance"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if self.fq_name in WITHOUT_ROUTE_TARGET:
            return
        if not self.routing_instance_is_default:
            chain = chain_of(self.fq_name)
            if self.parent() is None or (chain and not ctx.contributed(CHAIN, chain)):
                return
        target = own_route_target(self, ctx)
        if target is not None:
            claims = (target, refer(self, target))
            yield from with_reasons(ctx, claims, lambda *_: own_reasons(self, ctx))
        if self.routing_instance_is_default:
            if target is not None:
                yield from shared_targets(":".join(self.fq_name[:-1]), target, ctx)
            yield from links(self, ctx)
