"""Divides connections by weight among all TCPMappings for them, and decides by which TLS they are accepted.

Connections are distinguished by the name in the TLS handshake (``host``), so TLS is terminated at the gateway: with the
certificate of the best Host that covers the name, otherwise of a TLSContext that lists it (docs/ambassador.md §4.3). If
neither can be used, nobody is admitted. ``envoy/listeners.py`` makes the JSON.

On a port without a Listener the group makes a listener of its own; on a Listener's port ``listener_binding.py`` puts
its chains before those of HTTP. A Listener that can't listen as configured is not replaced: what it demands of
connections would be missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent, Source
from intentc.model.hostname_patterns import covering

from .envoy.listeners import listener, tcp_filter_chain
from .envoy_elements import element
from .host import check_hostname, check_secrets
from .host_binding import hosts_named
from .hostname_binding import closing, foremost
from .listener_binding import bind_address
from .reasons.hosts import tcp_routes
from .routing.tcp_routing import TCPMember, TCPRoute, divided, members_for, routes_of
from .this_gateway import Unusable, ours
from .tls_context import TLSSettings, context_settings, names, secret_of
from .upstreams.upstream import ClusterUse


class TCPMappingGroupIntent(Intent):
    kind = "tcp_mapping_group"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        members = members_for(ctx, self.uuid)
        host = members[0].host
        tls = None
        if host:
            try:
                tls = _tls(ctx, host)
            except Unusable as unusable:
                for member in members:
                    message = f"{unusable.message}; until then connections for {host} are rejected"
                    _report(ctx, member, unusable.reason, message)
                return
        parts, rejections = divided(members)
        for member, reason, message in rejections:
            _report(ctx, member, reason, message)
        yield Fact(
            "tcp_route",
            members[0].socket,
            TCPRoute(
                host=host,
                group=self.uuid,
                port=members[0].port,
                clusters=tuple(sorted(parts.items())),
                tls=tls,
                idle_timeout_ms=self._idle_timeout(ctx, members),
                origins=tuple(member.origin for member in members),
            ),
        )
        yield from _cluster_uses(members, parts)
        yield from (Fact("secret_use", used, "") for used in names(tls))

    def _idle_timeout(self, ctx: Context, members: list[TCPMember]) -> int | None:
        """One for all members: that of the first by name that sets it."""
        saying = [member for member in members if member.idle_timeout_ms is not None]
        for member in saying:
            if member.idle_timeout_ms != saying[0].idle_timeout_ms:
                message = f"idle_timeout_ms is {saying[0].idle_timeout_ms} in {saying[0].name}, which is for the same "
                _report(ctx, member, "DiffersFromGroup", f"{message}connections and counts; write the same in both")
        return saying[0].idle_timeout_ms if saying else None


def _tls(ctx: Context, host: str) -> TLSSettings:
    """The TLS settings for clients that request ``host``. Raises ``Unusable``."""
    check_hostname(host)
    for pattern in covering(host):
        asking = [binding for binding in hosts_named(ctx, pattern) if binding.name and binding.wants_tls]
        able = [binding for binding in asking if binding.tls is not None]
        shut = closing(asking)
        if (asking and not able) or shut is not None:
            named = shut.name if shut is not None else min(binding.name for binding in asking)
            raise Unusable("InvalidTLS", f"Host {named} has the TLS for {host}, which can't be used; fix it")
        if able:
            settings = foremost(able).tls
            assert settings is not None, "only those that are able are asked"
            return settings
    return _listed(ctx, host)


def _listed(ctx: Context, host: str) -> TLSSettings:
    """The settings of the TLSContext that lists ``host``: of several, one that asks clients for certificates, then the
    first by name. Raises ``Unusable``."""
    listing = [context for context in ctx.select("tls_context", "hosts", host) if ours(context, ctx)]
    for context in sorted(listing, key=lambda one: (not one.cert_required, not one.ca_secret, one.fq_name)):
        secret = secret_of(ctx, context)
        if not secret:
            about = ":".join(context.fq_name)
            raise Unusable("InvalidTLSContext", f"TLSContext {about} names no Secret with a certificate; name one")
        settings = context_settings(ctx, context, secret)
        check_secrets(ctx, settings)
        return settings
    message = f"there is no certificate for {host}: apply a Host that covers it with tlsSecret, or a TLSContext with it"
    raise Unusable("NoTLSContext", f"{message} in hosts")


def _cluster_uses(members: list[TCPMember], parts: dict[str, int]) -> Iterator[Fact]:
    """The upstreams that connections go to, each with the members that ask for it."""
    used: dict[str, list[TCPMember]] = {}
    for member in members:
        if member.upstream.name in parts:
            used.setdefault(member.upstream.name, []).append(member)
    for name, together in used.items():
        origins = tuple(Source("tcp_mapping", member.name, "service") for member in together)
        yield Fact("cluster", name, ClusterUse(together[0].upstream, origins))


def _report(ctx: Context, member: TCPMember, reason: str, message: str) -> None:
    ctx.problem_on(member.origin.kind, member.origin.name, reason, message)


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
