"""Explains why there are virtual hosts and listeners: by Listeners, Hosts, Mappings and TCPMappings.

Each Host that is bound to a Listener could be served there, so each is a reason, even while another overrules it. What
a listener demands of clients (its ``guards``) follows from an AuthService, a RateLimitService that denies when it
fails, the Module's address lists, and Hosts that require certificates.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from intentc import Context, Source
from intentc.model.hostname_patterns import covering, covers

from ..envoy_elements import PartReasons, Reasons, Sources
from ..grouping import members_of
from ..host_binding import HOSTS, HostBinding, hosts_named
from ..hostname import IRREGULAR
from ..hostname_binding import takes
from ..listener import LISTENERS, OpenListener, fallback
from ..plain import plain
from ..routing.tcp_routing import TCPRoute, members_for, routes_of
from ..settings.module_settings import MODULE_NAME
from ..this_gateway import ours
from .used_tls import of_connections, of_host, secrets


def guard_parts(ctx: Context, guards: list[str]) -> PartReasons:
    """The reasons for each of a listener's ``guards``, by its index."""
    for position, guard in enumerate(guards):
        sort, _, hostname = guard.partition(" ")
        for sources in _sources(ctx, sort, hostname):
            yield f"guards[{position}]", sources


def _sources(ctx: Context, sort: str, hostname: str) -> Iterator[Sources]:
    match sort:
        case "auth":
            yield from ((Source.of(one),) for one in ctx.all("auth_service") if ours(one, ctx))
        case "rate-limit-deny":
            for one in ctx.all("rate_limit_service"):
                if one.failure_mode_deny and ours(one, ctx):
                    yield (Source.of(one, "failure_mode_deny"),)
        case "ip":
            for module in ctx.all("module"):
                given = plain(module.config)
                if module.name == MODULE_NAME and isinstance(given, dict) and ours(module, ctx):
                    for key in ("ip_allow", "ip_deny"):
                        if key in given:
                            yield (Source.of(module, f"config.{key}"),)
        case _:
            for binding in hosts_named(ctx, hostname):
                if binding.tls is not None and binding.tls.required:
                    yield (Source(binding.kind, binding.name), *of_host(ctx, binding))


_CLEARTEXT, _TLS = "cleartext", "tls"


class _Served(NamedTuple):
    """A Host on one side of a Listener: its binding, and the sources that it needs to be served there."""

    binding: HostBinding
    sources: Sources


def virtual_host(ctx: Context, route_configuration: str, domain: str) -> Reasons:
    """Why this virtual host exists: a Listener and a Host of this name, or of a wider one, with a Mapping."""
    path, side, *guard = route_configuration.split("|")
    listener = _listener(ctx, path.replace("/", ":", 1))
    if listener is None:
        return
    found: list[_Served] = []
    irregular = {value for _, value in ctx.contributions("hostname_binding", IRREGULAR) if covers(value, domain)}
    for pattern in dict.fromkeys((*covering(domain), *sorted(irregular))):
        for served in _served(ctx, listener, side, pattern):
            tls = served.binding.tls
            if side == _TLS and ([served.binding.name] if tls is not None and tls.required else []) != guard:
                continue
            found.append(served)
    for served in [*found, *_fallback(ctx, listener, side, found)]:
        if served.binding.hostname == domain:
            yield served.sources
        else:
            for routed in _routed(ctx, f"{served.binding.scope}|{domain}"):
                yield (routed, *served.sources)


def listener(ctx: Context, name: str, port: int) -> Reasons:
    """Why the Listener ``name`` (namespace:name) listens: it, and a TCPMapping for its port or a Host."""
    for sources in tcp_routes(ctx, routes_of(ctx, str(port))):
        yield (Source("listener", name), *sources)
    opened = _listener(ctx, name)
    if opened is None:
        return
    hostnames = sorted({key.uuid for key, _ in ctx.contributions("listener_binding", name) if key.kind == "hostname"})
    sides = (_CLEARTEXT, _TLS)
    found = [one for side in sides for hostname in hostnames for one in _served(ctx, opened, side, hostname)]
    for served in (*found, *(one for side in sides for one in _fallback(ctx, opened, side, found))):
        yield served.sources


def tcp_routes(ctx: Context, routes: list[TCPRoute]) -> Reasons:
    """Why connections are accepted: a TCPMapping, and what terminates its TLS if it has a host."""
    for route in routes:
        members = members_for(ctx, route.group)
        for member, (_, sources) in product(members, of_connections(ctx, route.host)):
            yield (Source("tcp_mapping", member.name), *sources)


def _listener(ctx: Context, name: str) -> OpenListener | None:
    opened = (one for _, one in ctx.contributions("open_listener", LISTENERS))
    return next((one for one in opened if one.name == name), None)


def _served(ctx: Context, listener: OpenListener, side: str, hostname: str) -> Iterator[_Served]:
    """The Hosts of ``hostname`` that could be served on this side of the Listener."""
    for binding in hosts_named(ctx, hostname):
        if not takes(listener, binding):
            continue
        own = (Source("listener", listener.name), *((Source(binding.kind, binding.name),) if binding.name else ()))
        if side == _CLEARTEXT and listener.cleartext:
            yield _Served(binding, own)
        if side == _TLS and listener.tls and binding.tls is not None:
            yield _Served(binding, (*own, *of_host(ctx, binding)))


def _fallback(ctx: Context, listener: OpenListener, side: str, found: list[_Served]) -> Iterator[_Served]:
    """The fallback Host that would serve if all Hosts were deleted."""
    named = {(served.binding.kind, served.binding.name) for served in found}
    there = [contributor for contributor, _ in ctx.contributions("host_binding", HOSTS)]
    if not there or len(there) > len(named):
        return
    for contributor in there:
        view = ctx.get(contributor.kind, contributor.uuid)
        if view is not None and (view.kind, ":".join(view.fq_name)) not in named:
            return
    binding = fallback(listener.name.partition(":")[0], ctx)
    own = Source("listener", listener.name)
    if side == _CLEARTEXT and listener.cleartext:
        yield _Served(binding, (own,))
    if side == _TLS and listener.tls and binding.tls is not None:
        yield _Served(binding, (own, *secrets(binding.tls)))


def _routed(ctx: Context, table: str) -> Iterator[Source]:
    """The resources in a route table: each is a reason for the table."""
    for contributor, _ in ctx.contributions("routing_table", table):
        for member in members_of(ctx, contributor.uuid):
            if table in member.match.tables and not member.shadow:
                yield Source(member.kind, member.name, member.fields[0])
                yield from (Source(member.kind, member.name, field) for field in member.again)
