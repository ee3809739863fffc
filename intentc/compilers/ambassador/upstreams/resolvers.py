"""Resolvers, and the endpoints of a Service behind a port."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Any

from intentc import Claim, Context, Fact, Intent, View

from ..this_gateway import Unusable, gateway_namespace, ours
from .service_targets import address
from .upstream import DEFAULT_RESOLVER, Upstream

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
    """How ``upstream`` is discovered. Raises ``Unusable`` (``NoResolver``, ``Unsupported``).

    By the resolver of its name in its own namespace, otherwise in the gateway's, otherwise the built-in one, otherwise
    one of any namespace (the first by name): resolvers of other namespaces don't replace a built-in one.
    """
    name = upstream.resolver
    resolvers = declared(ctx, upstream)
    found = _KINDS[resolvers[0].kind] if resolvers else built_in(upstream)
    if found is None:
        known = ", ".join(built_in for built_in, how in _BUILT_IN.items() if how is not Discovery.CONSUL)
        raise Unusable("NoResolver", f"there is no resolver {name!r}; create it, or use one of {known}")
    if found is Discovery.CONSUL:
        raise Unusable("Unsupported", f"resolver {name!r}: {_CONSUL}; use a KubernetesEndpointResolver")
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


_MOST_PORT = 65535


def service_endpoints(ctx: Context, service: tuple[str, str], port: int) -> tuple[tuple[str, int], ...]:
    """(address, port) of each ready endpoint of ``port`` of the Service (namespace, name), sorted; at least one. It
    reports mistakes on the Endpoints.

    Raises ``Unusable`` (``NoService``, ``NoPort``, ``NoEndpoints``).
    """
    shown = ":".join(service)
    found = ctx.find("service", service)
    if found is None:
        raise Unusable("NoService", f"there is no Service {shown}; create it, or use a resolver that asks DNS")
    ports = [one for one in found.ports if _is_tcp(one)]
    declared = next((one for one in ports if one.port == port), None)
    if declared is None:
        known = ", ".join(str(one.port) for one in ports) or "none"
        raise Unusable("NoPort", f"Service {shown} has no TCP port {port}; write one that it has: {known}")
    listed = ctx.find("endpoints", service)
    if listed is not None:
        _report_mistakes(ctx, shown, listed.subsets)
    endpoints = sorted({endpoint for endpoint, _, _ in _ready(listed, declared)}) if listed is not None else []
    if not endpoints:
        raise Unusable("NoEndpoints", f"no address behind port {port} of Service {shown} is ready")
    return tuple(endpoints)


def endpoint_places(ctx: Context, service: tuple[str, str], port: int) -> dict[tuple[str, int], list[str]]:
    """(address, port) of each ready endpoint → its fields in Endpoints; empty where ``service_endpoints`` raises."""
    found, listed = ctx.find("service", service), ctx.find("endpoints", service)
    ports = [one for one in found.ports if _is_tcp(one) and one.port == port] if found is not None else []
    places: dict[tuple[str, int], list[str]] = {}
    if listed is not None and ports:
        for endpoint, subset, address in _ready(listed, ports[0]):
            places.setdefault(endpoint, []).append(f"subsets[{subset}].addresses[{address}]")
    return places


def _report_mistakes(ctx: Context, name: str, subsets: tuple[Any, ...]) -> None:
    for subset in subsets:
        for one in subset.addresses:
            if not _is_address(one.ip):
                ctx.problem_on("endpoints", name, "InvalidAddress", f"{one.ip!r} is not an IP address; it is left out")
        for port in subset.ports:
            if not 0 < port.port <= _MOST_PORT:
                message = f"{port.port} is not a port; it is left out. Ports are 1 to {_MOST_PORT}"
                ctx.problem_on("endpoints", name, "InvalidPort", message)


def _ready(endpoints: View, declared: Any) -> Iterator[tuple[tuple[str, int], int, int]]:
    """((address, port), number of the subset, number of the address in it)"""
    target = declared.targetPort or declared.port
    for position, subset in enumerate(endpoints.subsets):
        ports = [port for port in subset.ports if _is_tcp(port) and 0 < port.port <= _MOST_PORT]
        named = [port for port in ports if port.name == declared.name]
        chosen = named or [port for port in ports if not port.name and port.port == target]
        for port in chosen[:1]:
            for number, one in enumerate(subset.addresses):
                if _is_address(one.ip):
                    yield (one.ip, port.port), position, number


def _is_address(text: str) -> bool:
    """Whether it can be an endpoint. An address with a network interface (``%``) belongs to no other machine."""
    return "%" not in text and address(text) is not None


def _is_tcp(port: Any) -> bool:
    return port.protocol in ("", "TCP")
