"""Explains why an upstream is a cluster and has endpoints, and why clusters are joined: by all that would ask for it.

The parts of a cluster are its settings, its TLS and its endpoints. Envoy gets a Secret because it exists, and some TLS
settings use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

from intentc import Context, Source, View

from ..auth_reading import read_auth
from ..envoy_elements import PartReasons, Reasons, Sources
from ..grouping import members_of
from ..rate_limit_service import upstream_of as rate_limit_upstream
from ..routing.tcp_routing import members_for
from ..this_gateway import Unusable, gateway_namespace, in_order
from ..tls_context import names, secrets_in
from ..tracing_service import upstream_of as tracing_upstream
from ..upstreams.resolvers import Discovery, built_in, declared, endpoint_places
from ..upstreams.upstream import Upstream, used_upstream
from .groups import Setting, leading_to, setting_from, sufficient, tcp_leading_to
from .used_tls import context_of, contexts, of_connections

_ONE_COUNTS: dict[str, tuple[str, Callable[[View, Context], Upstream]]] = {
    "auth_service": ("auth_service", lambda service, ctx: read_auth(service, ctx, lambda *_: None).upstream),
    "rate_limit_service": ("service", rate_limit_upstream),
    "tracing_service": ("service", tracing_upstream),
}
"""Kinds of which one resource takes effect, and others could replace it: (field with the upstream, how to read it)."""


def cluster(ctx: Context, name: str) -> Reasons:
    """Why the cluster ``name`` exists."""
    for contributor, use in ctx.contributions("cluster", name):
        match contributor.kind:
            case "mapping_group":
                yield from leading_to(members_of(ctx, contributor.uuid), name)
            case "tcp_mapping_group":
                yield from _tcp(ctx, contributor.uuid, name)
            case kind if kind in _ONE_COUNTS:
                yield from ((Source.of(one, _ONE_COUNTS[kind][0]),) for one in asking(ctx, kind, name))
            case _:
                yield from ((one,) for one in use.origins)


def asking(ctx: Context, kind: str, cluster: str) -> list[View]:
    """The resources of a kind of which one takes effect that would ask for this cluster if they took effect."""
    found = []
    for service in in_order(kind, ctx):
        try:
            if _ONE_COUNTS[kind][1](service, ctx).name == cluster:
                found.append(service)
        except Unusable:
            continue
    return found


def joined(ctx: Context, clusters: tuple[str, ...]) -> Reasons:
    """Why a cluster that joins these exists: one AuthService for each."""
    asked = ([(Source.of(one, "auth_service"),) for one in asking(ctx, "auth_service", name)] for name in clusters)
    return (tuple(source for sources in chosen for source in sources) for chosen in product(*asked))


def endpoints(ctx: Context, name: str) -> Reasons:
    """Why the cluster ``name`` has endpoints: resources that ask for it, and their resolver, unless it is built in."""
    upstream = used_upstream(ctx, name)
    resolvers = declared(ctx, upstream)
    if built_in(upstream) is Discovery.ENDPOINTS:
        return cluster(ctx, name)
    chosen = sufficient(resolvers, lambda some: bool(some) and some[0].kind == "kubernetes_endpoint_resolver")
    resolved = [tuple(Source.of(view) for view in some) for some in chosen]
    return ((*asked, *way) for asked, way in product(cluster(ctx, name), resolved))


def _tcp(ctx: Context, group: str, name: str) -> Reasons:
    members = members_for(ctx, group)
    ways = [sources for _, sources in of_connections(ctx, members[0].host)] if members else []
    return ((*asked, *way) for asked, way in product(tcp_leading_to(members, name), ways))


_SETTINGS = (
    Setting("config.connect_timeout", "connect_timeout_ms", "connect_timeout_ms"),
    Setting("config.circuit_breakers", "circuit_breakers", "circuit_breakers", "circuit_breakers"),
    Setting("config.health_checks", "health_checks", "health_checks"),
    Setting("config.lb_policy", "load_balancer", "load_balancer", "load_balancer"),
    Setting("config.upstream_connection_options", "keepalive", "keepalive", "keepalive"),
    Setting("config.alt_stat_name", "stats_name", "stats_name", "defaults", "defaults.stats_name"),
)
_UNSET = Upstream(host="", port=0)


def cluster_parts(ctx: Context, name: str, config: dict[str, Any]) -> PartReasons:
    """The reasons for parts of the cluster ``name``."""
    upstream = used_upstream(ctx, name)
    asking = list(cluster(ctx, name))
    for setting in _SETTINGS:
        value, default = getattr(upstream, setting.attribute), getattr(_UNSET, setting.attribute)
        if setting.part.partition(".")[2] in config:
            for sources in asking:
                for said in _said(ctx, sources, setting, value, default):
                    yield setting.part, said
    if upstream.tls_context and "transport_socket" in config:
        for sources, (_, way) in product(asking, contexts(ctx, upstream)):
            yield "config.transport_socket", (*_instead(ctx, sources, "tls"), *way)


def endpoint_parts(ctx: Context, name: str, endpoints: tuple[tuple[str, int], ...]) -> PartReasons:
    """The reasons for each of ``endpoints``: the Service, and each place of the address in its Endpoints."""
    upstream = used_upstream(ctx, name)
    service = upstream.service(gateway_namespace(ctx))
    if service is None:
        return
    places = endpoint_places(ctx, service, upstream.port)
    for position, endpoint in enumerate(endpoints):
        for place in places.get(endpoint, ()):
            sources = (Source("service", ":".join(service)), Source("endpoints", ":".join(service), place))
            yield f"config.endpoints[0].lb_endpoints[{position}]", sources


def _said(ctx: Context, sources: Sources, setting: Setting, value: Any, default: Any) -> Iterator[Sources]:
    """Where the resource that asks for the cluster gets the setting from."""
    if len(sources) == 1:
        yield from setting_from(ctx, _view(ctx, sources[0]), setting, value, default)
    elif value != default:
        yield sources


def _instead(ctx: Context, sources: Sources, field: str) -> Sources:
    """``field`` of the resource that asks for the cluster, instead of the field that names the service."""
    view = _view(ctx, sources[0])
    return (
        (Source.of(view, field),) if len(sources) == 1 and view is not None and getattr(view, field, None) else sources
    )


def _view(ctx: Context, source: Source) -> View | None:
    return ctx.find(source.kind, tuple(source.name.split(":")))


def secret(ctx: Context, name: str) -> Reasons:
    """Why Envoy gets ``name`` (``secret_state.names``)."""
    wanted = tuple(Source("secret", one) for one in secrets_in(name))
    return (tuple(dict.fromkeys((*using, *wanted))) for using in _using(ctx, name))


def _using(ctx: Context, name: str) -> Reasons:
    for contributor, _ in ctx.contributions("secret_use", name):
        match contributor.kind:
            case "cluster":
                used = contexts(ctx, used_upstream(ctx, contributor.uuid))
                ways = [sources for settings, sources in used if name in names(settings)]
                for asked, way in product(cluster(ctx, contributor.uuid), ways):
                    yield (*asked, *way)
            case "tcp_mapping_group":
                members = members_for(ctx, contributor.uuid)
                for member, (settings, sources) in product(members, of_connections(ctx, members[0].host)):
                    if name in names(settings):
                        yield (Source("tcp_mapping", member.name), *sources)
            case kind:
                view = ctx.get(kind, contributor.uuid)
                if view is not None:
                    own = ":".join(view.fq_name)
                    yield (Source(kind, own), *(context_of(ctx, own) if kind == "host" else ()))
