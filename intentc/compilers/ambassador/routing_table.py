"""A route table (scope|hostname) finds the Hosts that serve its hostname, once for all of its routes.

If a Host has exactly this hostname, that Host makes the virtual host. Otherwise the best hostname that covers it
governs it, per side of each Listener (as Envoy would choose), and this table asks for a virtual host of its own there.
A hostname that is closed on a side is also closed for all names that it covers: what it should guard is not served
under a weaker one.

It reads through ``ctx``, and yields facts.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .hostname import IRREGULAR
from .hosts.hostname_binding import HostnameBinding
from .routing.hostnames import aligned, covering, covers, rank


class RoutingTableIntent(Intent):
    kind = "routing_table"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        scope, _, hostname = self.uuid.partition("|")
        taken: set[tuple[str, str]] = set()
        served = False
        for pattern in _patterns(ctx, hostname):
            binding: HostnameBinding | None = ctx.fact("hostname_binding", pattern)
            for side in binding.sides if binding is not None else ():
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
