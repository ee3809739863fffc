"""The virtual router of a host says which of its ports a physical network uses (docs/contrail.md D.16).

It reads through ``ctx``, and yields facts.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .switch_ports import NETWORK_PORT, shown, way


class VirtualRouterIntent(Intent):
    kind = "virtual_router"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        for pair in self.virtual_router_sriov_physical_networks.key_value_pair:
            if pair.value:
                yield Fact(NETWORK_PORT, way(shown(self), pair.key), (self.fq_name, pair.value))
