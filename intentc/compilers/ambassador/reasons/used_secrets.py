"""Explains why Envoy gets a Secret: it exists, and some TLS settings use it.

It reads through ``ctx`` alone.
"""

from __future__ import annotations

from itertools import product

from intentc import Context, Source

from ..elements import Reasons
from ..tls.secret_state import names, secrets_in
from ..upstreams.upstream import ClusterUse
from .clusters import cluster
from .groups import tcp_members_of
from .tls import context_of, contexts, of_connections


def secret(ctx: Context, name: str) -> Reasons:
    """Why Envoy gets ``name`` (``secret_state.names``)."""
    wanted = tuple(Source("secret", one) for one in secrets_in(name))
    return (tuple(dict.fromkeys((*using, *wanted))) for using in _using(ctx, name))


def _using(ctx: Context, name: str) -> Reasons:
    for contributor, _ in ctx.contributions("secret_use", name):
        match contributor.kind:
            case "cluster":
                uses: list[ClusterUse] = [use for _, use in ctx.contributions("cluster", contributor.uuid)]
                ways = [sources for settings, sources in contexts(ctx, uses[0].upstream) if name in names(settings)]
                for asked, way in product(cluster(ctx, contributor.uuid), ways):
                    yield (*asked, *way)
            case "tcp_mapping_group":
                members = tcp_members_of(ctx, contributor.uuid)
                for member, (settings, sources) in product(members, of_connections(ctx, members[0].host)):
                    if settings is not None and name in names(settings):
                        yield (Source("tcp_mapping", member.name), *sources)
            case kind:
                view = ctx.get(kind, contributor.uuid)
                if view is not None:
                    own = ":".join(view.fq_name)
                    yield (Source(kind, own), *(context_of(ctx, own) if kind == "host" else ()))
