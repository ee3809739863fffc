"""A network puts its three lists of route targets onto its primary routing instance (D.1)."""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .route_targets import configured_claims, merged_lists, primary_routing_instance, well_formed


class VirtualNetworkIntent(Intent):
    kind = "virtual_network"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        directions = merged_lists(
            self._targets("route_target_list", ctx),
            self._targets("import_route_target_list", ctx),
            self._targets("export_route_target_list", ctx),
        )
        instance = primary_routing_instance(self, ctx)
        return configured_claims([instance] if instance else [], directions)

    def _targets(self, field: str, ctx: Context) -> set[str]:
        return well_formed(self.field(field).route_target, field, ctx)
