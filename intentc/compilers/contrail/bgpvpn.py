"""A BGP VPN lists route targets for the networks and routers that refer to it (docs/contrail.md D.11).

Those read its lists and claim the targets; here each target without effect becomes a problem, once.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .target_lists import list_directions


class BgpvpnIntent(Intent):
    kind = "bgpvpn"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        list_directions(self, ctx)
        return ()
