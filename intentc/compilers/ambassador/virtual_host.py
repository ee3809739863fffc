"""A virtual host: one domain of one route configuration, with the routes before all others.

It does not list its routes: all tables of its scopes and its domain belong to it (``envoy_virtual_host``), so that a
Mapping changes only its route.

It reads, reports problems and gives reasons through ``ctx``, and yields claims.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .elements import element
from .envoy.virtual_host import insecure_requests
from .hosts.hostname_binding import VirtualHostShare
from .reasons import hosts as reasons


class VirtualHostIntent(Intent):
    kind = "virtual_host"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        route_configuration, _, domain = self.uuid.rpartition("|")
        shares: list[VirtualHostShare] = sorted({share for _, share in ctx.contributions("virtual_host", self.uuid)})
        # One Host, or one that covers the domain, governs it: the shares differ in no rule once all have been made.
        rule = max(share.rule for share in shares)
        head = insecure_requests(rule.action, forwarded=rule.forwarded)
        yield element(
            self,
            ctx,
            "envoy_virtual_host",
            (route_configuration, domain),
            {},
            (origin for share in shares for origin in share.origins),
            why=lambda: reasons.virtual_host(ctx, route_configuration, domain),
            route_configuration=route_configuration,
            domain=domain,
            scopes=sorted({scope for share in shares for scope in share.scopes}),
            head=head,
        )
