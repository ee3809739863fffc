"""The server router of a routing instance with BGP as a service, while any service has a client there
(docs/contrail.md D.13).

It reads through ``ctx``, and yields claims.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .bgp_as_a_service import SERVED, SERVER


class BgpServerIntent(Intent):
    """A fact; its name is the uuid of the routing instance."""

    kind = SERVED

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        instance = ctx.get("routing_instance", self.name)
        if instance is not None:
            yield self.child_of(instance, "bgp_router", SERVER, bgp_router_parameters={"router_type": SERVER})
