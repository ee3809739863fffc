"""Explains why an upstream is a cluster and has endpoints, and why clusters are joined: by all that would ask for it.

The parts of a cluster are in ``cluster_parts.py``.

It reads through ``ctx`` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from intentc import Context, Source, View

from ..elements import Reasons
from ..gateway.auth_reading import read_auth
from ..rate_limit_service import upstream_of as rate_limit_upstream
from ..this_gateway import in_order
from ..tracing_service import upstream_of as tracing_upstream
from ..upstreams.resolvers import Discovery, built_in, declared
from ..upstreams.upstream import ClusterUse, Unusable, Upstream
from .groups import leading_to, members_of, tcp_leading_to, tcp_members_of
from .sufficient import sufficient
from .tls import of_connections


def _auth_upstream(service: View, ctx: Context) -> Upstream:
    return read_auth(service, ctx, lambda reason, message: None).upstream


_ONE_COUNTS: dict[str, tuple[str, Callable[[View, Context], Upstream]]] = {
    "auth_service": ("auth_service", _auth_upstream),
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
                yield from ((Source(one.kind, one.name, one.field),) for one in use.origins)


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
    uses: list[ClusterUse] = [use for _, use in ctx.contributions("cluster", name)]
    upstream = uses[0].upstream
    resolvers = declared(ctx, upstream)
    if built_in(upstream) is Discovery.ENDPOINTS:
        return cluster(ctx, name)
    chosen = sufficient(resolvers, lambda some: bool(some) and some[0].kind == "kubernetes_endpoint_resolver")
    resolved = [tuple(Source.of(view) for view in some) for some in chosen]
    return ((*asked, *way) for asked, way in product(cluster(ctx, name), resolved))


def _tcp(ctx: Context, group: str, name: str) -> Reasons:
    members = tcp_members_of(ctx, group)
    ways = [sources for _, sources in of_connections(ctx, members[0].host)] if members else []
    return ((*asked, *way) for asked, way in product(tcp_leading_to(members, name), ways))
