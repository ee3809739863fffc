"""Turns a Listener, with all that it serves, into one listener of Envoy with its filter chains.

If several Listeners share a port, the first by name of those that can listen and have something to serve gets it; the
others report which one. TCP routes of the port come first, then a chain for each TLS configuration, with the names of
the Hosts that share it, then one chain for clear text for all Hosts. The intent runs when a Listener, a Host, a
TCPMapping, or the gateway's settings or services change, and never for a Mapping: routes arrive by RDS. A listener's
``guards`` say what it demands of clients. Ports without a Listener are the business of ``tcp_mapping_group.py``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Any

from intentc import Claim, Context, Fact, Intent, Source
from intentc.model.hostname_patterns import rank

from .envoy.http_connection_manager import http_connection_manager
from .envoy.listeners import FilterChain, cleartext_chain, folded, listener, tcp_filter_chain, tls_chains
from .envoy_elements import element
from .hostname_binding import ChainShare
from .http_gateway import Gateway, Misconfigured, gateway
from .listener import Socket
from .reasons import hosts as reasons
from .reasons.hosts import guard_parts
from .routing.tcp_routing import TCPRoute, routes_of
from .tls_context import TLSSettings

_EVERYWHERE = "0.0.0.0"  # noqa: S104  a gateway is there to be reached
_CLEARTEXT = "httphost-shared"


class ListenerBindingIntent(Intent):
    kind = "listener_binding"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        contributed = [value for _, value in ctx.contributions("listener_binding", self.uuid)]
        socket = _socket(contributed)
        if socket is None:
            return
        shares = _shares(contributed)
        shares.sort(key=lambda share: (rank(share.hostname), share.route_configuration))
        tcp = routes_of(ctx, str(socket.port))
        if self._port_is_taken(ctx, contributed, socket, shares, tcp):
            return
        taken = {route.host for route in tcp}
        free: list[ChainShare] = []
        for share in shares:
            if (share.hostname if share.tls is not None else "") in taken:
                self._report_taken(ctx, share)
            else:
                free.append(share)
        common = gateway(ctx)
        chains = [tcp_filter_chain(route) for route in tcp] + self._http_chains(common, socket, free)
        if not chains:
            self._report_nothing(ctx, socket)
            return
        path = self.uuid.replace(":", "/", 1)
        limit = common.settings.buffer_limit_bytes
        config = listener(path, bind_address(ctx), socket.port, socket.layers, chains, buffer_bytes=limit)
        served = [*(route.origins for route in tcp), *(share.origins for share in free)]
        shared_by = common.origins if free or limit is not None else ()
        origins = [Source("listener", self.uuid), *shared_by, *(origin for origins in served for origin in origins)]
        stored, shared = folded(config)
        asked = guards(common, free)
        yield element(
            self,
            ctx,
            "envoy_listener",
            (path,),
            config,
            origins,
            why=lambda: reasons.listener(ctx, self.uuid, socket.port),
            parts=lambda: guard_parts(ctx, asked),
            stored=stored,
            shared_filters=shared,
            guards=asked,
        )

    def _port_is_taken(
        self, ctx: Context, contributed: list[Any], socket: Socket, shares: list[ChainShare], tcp: list[TCPRoute]
    ) -> bool:
        """Whether another Listener holds this port; reports it, also on Hosts that only this Listener takes."""
        best, holder = _rank(self.uuid, socket, contributed, bool(tcp)), self.uuid
        served: set[Source] = set()
        others: list[str] = []
        for name in sorted({value for _, value in ctx.contributions("listener_port", str(socket.port))} - {self.uuid}):
            values = [value for _, value in ctx.contributions("listener_binding", name)]
            other = _socket(values)
            if other is None:
                continue
            others.append(name)
            standing = _rank(name, other, values, bool(tcp))
            if standing < best:
                best, holder = standing, name
                served = {origin for share in _shares(values) for origin in share.origins}
        if holder == self.uuid:
            for name in others:
                message = f"port {socket.port} is asked for by Listener {name}, too, which does not listen: of those "
                hint = "with somebody to serve the first by name does. Give one of them another port"
                ctx.problem_on("listener", self.uuid, "PortShared", message + hint)
            return False
        message = f"port {socket.port} is Listener {holder}'s; use another. Until then it does not listen"
        ctx.problem_on("listener", self.uuid, "PortTaken", message)
        for host in sorted({origin for share in shares for origin in share.origins} - served):
            message = f"port {socket.port} of Listener {self.uuid}, which takes this Host, is Listener {holder}'s"
            ctx.problem_on(host.kind, host.name, "NoListener", f"{message}; give that Listener another port")
        return True

    def _http_chains(self, common: Gateway, socket: Socket, shares: list[ChainShare]) -> list[FilterChain]:
        """A chain for each route configuration and TLS configuration, in the order of the hostnames."""
        grouped: dict[tuple[str, TLSSettings | None], list[ChainShare]] = {}
        for share in shares:
            grouped.setdefault((share.route_configuration, share.tls), []).append(share)
        found: list[FilterChain] = []
        cleartext: list[FilterChain] = []
        for (route_configuration, tls), together in grouped.items():
            network_filter: dict[str, Any] = http_connection_manager(
                common,
                stat_prefix=socket.statistics,
                route_configuration=route_configuration,
                l7_depth=socket.trusted_hops,
                http2_max_concurrent_streams=socket.concurrent_streams,
            )
            if tls is None:
                cleartext.append(cleartext_chain(_CLEARTEXT, network_filter))
            else:
                hostnames = [share.hostname for share in together]
                found += tls_chains(f"httpshost-{hostnames[0]}", hostnames, tls, network_filter)
        return found + cleartext

    def _report_taken(self, ctx: Context, share: ChainShare) -> None:
        message = f"connections for {share.hostname} on Listener {self.uuid} go to a TCPMapping of this port; use"
        for host in share.origins:
            hint = "another port or another hostname for one of them"
            ctx.problem_on(host.kind, host.name, "TakenByTCPMapping", f"{message} {hint}")

    def _report_nothing(self, ctx: Context, socket: Socket) -> None:
        if "HTTP" in socket.layers:
            message = "no Host is served here: none is chosen by hostBinding, or none has what the protocol needs"
            ctx.problem_on("listener", self.uuid, "NoHost", f"{message}. Until then it does not listen")
        else:
            message = f"no TCPMapping is for port {socket.port}; apply one. Until then it does not listen"
            ctx.problem_on("listener", self.uuid, "NoTCPMapping", message)


def _socket(contributed: list[Any]) -> Socket | None:
    """The socket of a Listener that can listen."""
    return next((value for value in contributed if isinstance(value, Socket)), None)


def _shares(contributed: list[Any]) -> list[ChainShare]:
    return [share for value in contributed if isinstance(value, tuple) for share in value]


def _rank(name: str, socket: Socket, contributed: list[Any], tcp: bool) -> tuple[bool, list[str]]:
    """The rank of a Listener among those of its port: those with something to serve first, then by name. Closed Hosts
    count, too: another Listener might admit clients that this one keeps out."""
    serves = any(isinstance(value, tuple) for value in contributed) if "HTTP" in socket.layers else tcp
    return not serves, name.split(":")


def guards(common: Gateway, shares: list[ChainShare]) -> list[str]:
    """The names of what a listener demands of clients, sorted.

    An older version that lacks one of these must not stay in force if Envoy rejects this one (docs/adr/0012).
    """
    if not shares:
        return []
    found = {
        f"client-certificates {share.hostname}" for share in shares if share.tls is not None and share.tls.required
    }
    if common.auth is not None:
        found.add("auth")
    if common.settings.ip_allow is not None or common.settings.ip_deny:
        found.add("ip")
    if isinstance(common.rate_limit, Misconfigured) or (common.rate_limit and common.rate_limit.failure_mode_deny):
        found.add("rate-limit-deny")
    return sorted(found)


def bind_address(ctx: Context) -> str:
    """The address that listeners bind to: the setting ``ambassador.bind_address`` in its short form, otherwise all."""
    address = str(ctx.setting("ambassador.bind_address", _EVERYWHERE))
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address
