"""Makes a listener for a TCP port that no Listener has; on a Listener's port that Listener serves it.

On a Listener's port ``listener_binding.py`` puts its chains before those of HTTP. A Listener that can't listen as
configured is not replaced: what it demands of connections would be missing.

It reads, reports problems and gives reasons through ``ctx``, and yields claims.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent

from .elements import element
from .envoy.listener import listener, tcp_filter_chain
from .listener_binding import bind_address
from .reasons.hosts import tcp_routes
from .routing.tcp_routing import TCPRoute, routes_of


class TCPRouteIntent(Intent):
    kind = "tcp_route"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        address, _, port = self.uuid.rpartition("|")
        routes = routes_of(ctx, self.uuid)
        listeners: list[str] = [] if address else [name for _, name in ctx.contributions("listener_port", port)]
        if listeners:
            self._report_unserved(ctx, routes, listeners)
            return
        chains = [tcp_filter_chain(route) for route in routes]
        name = f"tcp-{self.uuid.replace('|', '-')}"
        config = listener(name, address or bind_address(ctx), int(port), ("TCP",), chains)
        origins = [origin for route in routes for origin in route.origins]
        yield element(self, ctx, "envoy_listener", (name,), config, origins, why=lambda: tcp_routes(ctx, routes))

    def _report_unserved(self, ctx: Context, routes: list[TCPRoute], listeners: list[str]) -> None:
        # Read all of them: with `any` one answer would decide which others are read.
        if sum(ctx.contributed("listener_binding", name) for name in listeners):
            return
        for origin in (origin for route in routes for origin in route.origins):
            message = f"port {routes[0].port} is Listener {min(listeners)}'s, which can't listen; fix it"
            ctx.problem_on(origin.kind, origin.name, "NoListener", f"{message}. Until then connections are rejected")
