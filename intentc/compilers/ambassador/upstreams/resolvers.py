"""Decides how upstreams are discovered: by DNS or in Endpoints; holds the intents of the resolvers.

Consul is reported as unsupported. A resource names a resolver; ``service_endpoints.py`` reads Endpoints, and Envoy asks
DNS. Rules: docs/ambassador.md §4.3.

It reads and reports problems through ``ctx``, and yields nothing.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent, View

from ..this_gateway import gateway_namespace, ours
from .upstream import DEFAULT_RESOLVER, Unreachable, Upstream

_CONSUL = "Consul is not watched here, so no endpoints are known from it"


class Discovery(enum.Enum):
    """Where the endpoints of an upstream come from."""

    DNS = "dns"
    ENDPOINTS = "endpoints"
    CONSUL = "consul"


_KINDS = {
    "kubernetes_service_resolver": Discovery.DNS,
    "kubernetes_endpoint_resolver": Discovery.ENDPOINTS,
    "consul_resolver": Discovery.CONSUL,
}
_BUILT_IN = {
    DEFAULT_RESOLVER: Discovery.DNS,
    "endpoint": Discovery.ENDPOINTS,
    "kubernetes-endpoint": Discovery.ENDPOINTS,
    "consul": Discovery.CONSUL,
    "consul-endpoint": Discovery.CONSUL,
}


class KubernetesServiceResolverIntent(Intent):
    kind = "kubernetes_service_resolver"


class KubernetesEndpointResolverIntent(Intent):
    kind = "kubernetes_endpoint_resolver"


class ConsulResolverIntent(Intent):
    kind = "consul_resolver"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if ours(self, ctx):
            ctx.problem(
                "Unsupported", f"{_CONSUL}; requests to upstreams that name it are answered 503. Use Endpoints instead"
            )
        return ()


def discovery(ctx: Context, upstream: Upstream) -> Discovery:
    """How ``upstream`` is discovered. Raises ``Unreachable`` (``NoResolver``, ``Unsupported``).

    By the resolver of its name in its own namespace, otherwise in the gateway's, otherwise the built-in one, otherwise
    one of any namespace (the first by name): resolvers of other namespaces don't replace a built-in one.
    """
    name = upstream.resolver
    resolvers = declared(ctx, upstream)
    found = _KINDS[resolvers[0].kind] if resolvers else built_in(upstream)
    if found is None:
        known = ", ".join(built_in for built_in, how in _BUILT_IN.items() if how is not Discovery.CONSUL)
        raise Unreachable("NoResolver", f"there is no resolver {name!r}; create it, or use one of {known}")
    if found is Discovery.CONSUL:
        raise Unreachable("Unsupported", f"resolver {name!r}: {_CONSUL}; use a KubernetesEndpointResolver")
    return found


def built_in(upstream: Upstream) -> Discovery | None:
    """How ``upstream`` is discovered while no resource declares its resolver."""
    return _BUILT_IN.get(upstream.resolver)


def declared(ctx: Context, upstream: Upstream) -> list[View]:
    """The resolvers that the name may mean, the best first. Nobody can declare the default resolver."""
    if upstream.resolver == DEFAULT_RESOLVER:
        return []
    own = gateway_namespace(ctx)
    everywhere = [
        view
        for kind in _KINDS
        for view in ctx.select(kind, "name", upstream.resolver)
        if view.name == upstream.resolver and ours(view, ctx)
        if upstream.resolver not in _BUILT_IN or view.fq_name[0] in (upstream.namespace, own)
    ]
    everywhere.sort(
        key=lambda view: (view.fq_name[0] != upstream.namespace, view.fq_name[0] != own, view.fq_name, view.kind)
    )
    return everywhere
