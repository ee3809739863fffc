"""The static routes of a network's primary routing instance: those that lead to services, then those of its route
tables that lead to an address (docs/contrail.md D.9). ``service_routes.py`` finds the former, and lets the instance
import their targets.

It reads and gives reasons through ``ctx``, and returns claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from intentc import Claim, Context, Source, View, assign

from .route_target_sources import Reasons
from .service_routes import BY_ADDRESS, Route, imports, routes_to_services

ENTRIES = "static_route_entries"


def static_routes(network: View, instance: View, ctx: Context) -> Iterator[Claim]:
    """One list; equal routes count once."""
    leading, imported = routes_to_services(network, ctx)
    found: dict[bytes, tuple[dict[str, Any], Reasons]] = {}
    for route in (*leading, *_to_addresses(network)):
        found.setdefault(msgspec.json.encode(route.entry), (route.entry, []))[1].extend(route.reasons)
    if not found:
        return
    claim = assign(instance, ENTRIES, {"route": [entry for entry, _ in found.values()]})
    if ctx.explaining:
        for position, (_, reasons) in enumerate(found.values()):
            for sources in dict.fromkeys(reasons):
                ctx.because(claim, *sources, part=f"{ENTRIES}.route[{position}]")
    yield claim
    yield from imports(instance, imported, ctx)


def _to_addresses(network: View) -> Iterator[Route]:
    """In the order of the tables' names, and within a table in its order."""
    for table in network.references("route_table"):
        attached = Source.of(network, f"route_table_refs[{':'.join(table.fq_name)}]")
        for position, route in enumerate(table.routes.route):
            if route.next_hop_type == BY_ADDRESS:
                community = list(route.community_attributes.community_attribute)
                entry = {"prefix": route.prefix, "next_hop": route.next_hop, "community": community}
                yield Route(entry, [(attached, Source.of(table, f"routes.route[{position}]"))])
