"""A network puts its three lists of route targets onto its primary routing instance (docs/contrail.md D.1), and its
policies into access control lists (docs/contrail.md D.4)."""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .network_acl import network_policies
from .route_target_sources import listed_reasons, with_reasons
from .route_targets import configured_claims, effective, merged_lists, primary_routing_instance

LISTS = ("route_target_list", "import_route_target_list", "export_route_target_list")


class VirtualNetworkIntent(Intent):
    kind = "virtual_network"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        both, imported, exported = (effective(self.field(field).route_target, field, ctx) for field in LISTS)
        instance = primary_routing_instance(self, ctx)
        claims = configured_claims([instance] if instance else [], merged_lists(both, imported, exported))
        yield from with_reasons(ctx, claims, lambda target, _: listed_reasons(self, LISTS, target))
        yield from network_policies(self, ctx)
