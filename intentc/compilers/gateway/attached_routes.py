"""Counts the routes that are attached to each listener, and says which kinds a listener takes (docs/gateway.md §9).

Contour routes; the compiler only counts. A route is attached if it names the Gateway (and the listener or the port,
if it says so), its namespace and kind are allowed, and its host names overlap with the listener's.
"""

from __future__ import annotations

from typing import Any

from intentc import Context, View

from .gateway_listeners import Listener, NamespaceSelector, overlap

GROUP = "gateway.networking.k8s.io"
ROUTES = {
    "HTTPRoute": "gateway_http_route",
    "GRPCRoute": "gateway_grpc_route",
    "TLSRoute": "gateway_tls_route",
    "TCPRoute": "gateway_tcp_route",
}
"""The kind of a route in manifests → our kind."""


def protocol_kinds(listener: Listener) -> tuple[str, ...]:
    """The kinds of routes that the protocol of a listener can have."""
    match listener.protocol:
        case "HTTP" | "HTTPS" | "projectcontour.io/https":
            return ("GRPCRoute", "HTTPRoute")
        case "TLS":
            return ("TCPRoute", "TLSRoute") if listener.mode == "Terminate" else ("TLSRoute",)
        case "TCP":
            return ("TCPRoute",)
    return ()


def supported_kinds(listener: Listener) -> tuple[str, ...]:
    """The kinds of routes that a listener takes: those that its user asks for and that it can have."""
    able = protocol_kinds(listener)
    if listener.route_kinds is None:
        return able
    return tuple(kind for kind in able if (GROUP, kind) in listener.route_kinds)


def unknown_kinds(listener: Listener) -> tuple[str, ...]:
    """The kinds of routes that the user asks for and that the listener can't have."""
    able = {(GROUP, kind) for kind in protocol_kinds(listener)}
    return tuple(sorted(kind for group, kind in listener.route_kinds or () if (group, kind) not in able))


def attached_routes(ctx: Context, gateway: View, listeners: tuple[Listener, ...]) -> tuple[int, ...]:
    """The number of attached routes of each listener, in their order."""
    counts = [0] * len(listeners)
    wanted = {kind for listener in listeners for kind in supported_kinds(listener)}
    for kind in sorted(wanted):
        for route in ctx.select(ROUTES[kind], "parent", gateway.name):
            for place, listener in enumerate(listeners):
                if kind in supported_kinds(listener) and _is_attached(ctx, route, gateway, listener):
                    counts[place] += 1
    return tuple(counts)


def _is_attached(ctx: Context, route: View, gateway: View, listener: Listener) -> bool:
    own, name = gateway.fq_name
    namespace = route.fq_name[0]
    named = any(
        (parent.group, parent.kind) in _GATEWAYS
        and (parent.namespace or namespace, parent.name) == (own, name)
        and parent.sectionName in ("", listener.name)
        and parent.port in (0, listener.port)
        for parent in route.parentRefs
    )
    hostnames = route.hostnames or ("",)
    return (
        named
        and any(overlap(hostname, listener.hostname) for hostname in hostnames)
        and _is_allowed(ctx, listener, own, namespace)
    )


_GATEWAYS = frozenset((group, kind) for group in (None, GROUP) for kind in (None, "Gateway"))


def _is_allowed(ctx: Context, listener: Listener, own: str, namespace: str) -> bool:
    match listener.route_namespaces:
        case "All":
            return True
        case "Selector":
            found = ctx.find("kubernetes_namespace", (namespace,))
            return found is not None and _selects(listener.selector, found.metadata.labels)
    return namespace == own


def _selects(selector: NamespaceSelector, labels: Any) -> bool:
    if any(labels.get(key) != value for key, value in selector.labels):
        return False
    for key, operator, values in selector.expressions:
        found = labels.get(key)
        match operator:
            case "In":
                fits = found in values
            case "NotIn":
                fits = found not in values
            case "Exists":
                fits = found is not None
            case "DoesNotExist":
                fits = found is None
            case _:
                fits = False
        if not fits:
            return False
    return True
