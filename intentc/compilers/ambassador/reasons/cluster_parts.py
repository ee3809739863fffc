"""Explains the parts of a cluster: its settings, its TLS, its endpoints.

It reads through ``ctx`` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from intentc import Context, Source, View

from ..elements import PartReasons, Sources
from ..this_gateway import gateway_namespace
from ..upstreams.service_endpoints import endpoint_places
from ..upstreams.upstream import ClusterUse, Upstream
from .clusters import cluster
from .settings import Setting, setting_from
from .tls import contexts

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
    uses: list[ClusterUse] = [use for _, use in ctx.contributions("cluster", name)]
    upstream = uses[0].upstream
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
    uses: list[ClusterUse] = [use for _, use in ctx.contributions("cluster", name)]
    service = uses[0].upstream.service(gateway_namespace(ctx))
    if service is None:
        return
    places = endpoint_places(ctx, service, uses[0].upstream.port)
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
