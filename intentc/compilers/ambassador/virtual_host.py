"""Route tables and virtual hosts: which Host serves the routes of a hostname, and the element that it becomes.

A route table (scope|hostname) finds the Hosts that serve its hostname, once for all of its routes. If a Host has
exactly this hostname, that Host makes the virtual host. Otherwise the best hostname that covers it governs it, per side
of each Listener (as Envoy would choose), and this table asks for a virtual host of its own there. A hostname that is
closed on a side is also closed for all names that it covers: what it should guard is not served under a weaker one.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent
from intentc.model.hostname_patterns import aligned, covering, covers, rank

from .envoy.route import insecure_requests
from .envoy_elements import element
from .hostname import IRREGULAR
from .hostname_binding import Side, VirtualHostShare
from .reasons import hosts as reasons


class RoutingTableIntent(Intent):
    kind = "routing_table"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        scope, _, hostname = self.uuid.partition("|")
        taken: set[tuple[str, str]] = set()
        served = False
        for pattern in _patterns(ctx, hostname):
            sides: tuple[Side, ...] = ctx.fact("hostname_binding", pattern) or ()
            for side in sides:
                if (side.listener, side.side) in taken:
                    continue
                taken.add((side.listener, side.side))
                if not side.route_configuration or scope not in side.share.scopes:
                    continue
                served = True
                if pattern != hostname:
                    yield Fact("virtual_host", f"{side.route_configuration}|{hostname}", side.share)
        if served:
            yield Fact("table_served", self.uuid, "")


def _patterns(ctx: Context, hostname: str) -> list[str]:
    """The hostnames of Hosts that may cover ``hostname``, the best first. Wildcards within a label are so rare that
    they are read together, the others one by one."""
    irregular = {value for _, value in ctx.contributions("hostname_binding", IRREGULAR) if covers(value, hostname)}
    return sorted({pattern for pattern in covering(hostname) if aligned(pattern)} | irregular | {hostname}, key=rank)


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
