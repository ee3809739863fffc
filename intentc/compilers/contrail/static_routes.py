"""The static routes of a network's primary routing instance: those of its route tables that lead to an address
(docs/contrail.md D.9).

Routes whose next hop is a service instance follow from routers with a gateway, and are not compiled here.
"""

from __future__ import annotations

from collections.abc import Iterator

from intentc import Claim, Context, Source, View, assign

ENTRIES = "static_route_entries"
BY_ADDRESS = "ip-address"
"""The type of next hops that are addresses; any other next hop, also one without a type, names a service instance."""


def static_routes(network: View, instance: View, ctx: Context) -> Iterator[Claim]:
    """The routes in the order of the tables' names, and within a table in its order; equal ones count once."""
    reasons: dict[tuple[str, str, tuple[str, ...]], list[tuple[Source, ...]]] = {}
    for table in network.references("route_table"):
        attached = Source.of(network, f"route_table_refs[{':'.join(table.fq_name)}]")
        for position, route in enumerate(table.routes.route):
            if route.next_hop_type == BY_ADDRESS:
                entry = (route.prefix, route.next_hop, route.community_attributes.community_attribute)
                reasons.setdefault(entry, []).append((attached, Source.of(table, f"routes.route[{position}]")))
    if not reasons:
        return
    routes = [{"prefix": prefix, "next_hop": hop, "community": community} for prefix, hop, community in reasons]
    claim = assign(instance, ENTRIES, {"route": routes})
    for position, found in enumerate(reasons.values()):
        for sources in found:
            ctx.because(claim, *sources, part=f"{ENTRIES}.route[{position}]")
    yield claim
