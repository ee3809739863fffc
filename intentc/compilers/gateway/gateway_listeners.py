"""One model of the listeners of both versions of Gateways, their host names, and the routes that are attached to them
(docs/gateway.md §2, §6, §9).

v1alpha1 has no names, one certificate, and a selector of namespaces in another place. Every later step works on
``Listener`` alone. Contour routes; the compiler only counts. A route is attached if it names the Gateway (and the
listener or the port, if it says so), its namespace and kind are allowed, and its host names overlap with the
listener's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from intentc import Context, View

from .gateway_addresses import ip_address

GROUP = "gateway.networking.k8s.io"
CORE_GROUPS = ("", "core")
"""How a reference to a Secret may name the group of core kinds; only v1alpha1 knows ``core``."""


class Certificate(NamedTuple):
    """A reference to a Secret; ``namespace`` is empty for the Gateway's own."""

    group: str
    kind: str
    namespace: str
    name: str


class NamespaceSelector(NamedTuple):
    """A label selector: ``labels`` as (key, value); ``expressions`` as (key, operator, values)."""

    labels: tuple[tuple[str, str], ...] = ()
    expressions: tuple[tuple[str, str, tuple[str, ...]], ...] = ()


class Listener(NamedTuple):
    """``hostname`` as the user wrote it. ``has_tls``: whether it has any TLS settings; ``mode``: ``Terminate``,
    ``Passthrough``, or what the user wrote. ``route_namespaces``: ``Same``, ``All`` or ``Selector``. ``route_kinds``:
    (group, kind), None if every supported kind may be attached."""

    name: str
    protocol: str
    port: int
    hostname: str = ""
    has_tls: bool = False
    mode: str = "Terminate"
    certificates: tuple[Certificate, ...] = ()
    has_options: bool = False
    route_namespaces: str = "Same"
    selector: NamespaceSelector = NamespaceSelector()
    route_kinds: tuple[tuple[str, str], ...] | None = None

    @property
    def terminates(self) -> bool:
        """Whether TLS ends here, so that it needs a certificate."""
        return self.has_tls and self.mode == "Terminate" and self.protocol in ("HTTPS", "TLS")


def listeners_of(gateway: View) -> tuple[Listener, ...]:
    """The listeners of a Gateway of either version, in their order."""
    read = _early if gateway.kind == "gateway_v1alpha1" else _current
    return tuple(read(place, listener) for place, listener in enumerate(gateway.listeners))


def _current(place: int, given: Any) -> Listener:
    tls, allowed = given.tls, given.allowedRoutes
    kinds = tuple((_or(kind.group, GROUP), kind.kind) for kind in allowed.kinds)
    return Listener(
        name=given.name,
        protocol=given.protocol,
        port=given.port,
        hostname=given.hostname,
        has_tls=tls is not None,
        mode=tls.mode or "Terminate" if tls is not None else "Terminate",
        certificates=tuple(map(_certificate, tls.certificateRefs)) if tls is not None else (),
        has_options=tls is not None and bool(tls.options),
        route_namespaces=getattr(allowed.namespaces, "from") or "Same",
        selector=_selector(allowed.namespaces.selector),
        route_kinds=kinds or None,
    )


def _early(place: int, given: Any) -> Listener:
    tls, routes = given.tls, given.routes
    certificate = tls.certificateRef if tls is not None else None
    return Listener(
        name=f"{given.protocol}-{given.port}-{place}".lower(),
        protocol=given.protocol,
        port=given.port,
        hostname=given.hostname,
        has_tls=tls is not None,
        mode=tls.mode or "Terminate" if tls is not None else "Terminate",
        # The namespace is always the Gateway's: a field of that name is the later version's.
        certificates=(_certificate(certificate)._replace(namespace=""),) if certificate is not None else (),
        route_namespaces=getattr(routes.namespaces, "from") or "Same",
        selector=_selector(routes.namespaces.selector),
    )


def _certificate(given: Any) -> Certificate:
    return Certificate(_or(given.group, ""), _or(given.kind, "Secret"), given.namespace, given.name)


def _selector(given: Any) -> NamespaceSelector:
    if given is None:
        return NamespaceSelector()
    labels: Mapping[str, Any] = given.matchLabels
    expressions = tuple((one.key, one.operator, tuple(one.values)) for one in given.matchExpressions)
    return NamespaceSelector(tuple(sorted((key, str(value)) for key, value in labels.items())), expressions)


def _or(given: str | None, default: str) -> str:
    return default if given is None else given


ANY = ""
"""What an absent host name, an empty one and ``*`` mean."""

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LONGEST = 253


def normal(hostname: str) -> str:
    """The host name in the form in which two equal ones are equal texts.

    >>> normal("Shop.Example.COM"), normal("*")
    ('shop.example.com', '')
    """
    lower = hostname.lower()
    return ANY if lower == "*" else lower


def is_valid(hostname: str) -> bool:
    """Whether it is a DNS name, with ``*`` at most as its whole first label, and no IP address.

    >>> [is_valid(name) for name in ("", "*.example.com", "10.0.0.1", "a.*.com", "-a.com")]
    [True, True, False, False, False]
    """
    name = normal(hostname)
    if name == ANY:
        return True
    if len(name) > _LONGEST or ip_address(name):
        return False
    labels = name.removeprefix("*.").split(".")
    return all(_LABEL.fullmatch(label) for label in labels)


def overlap(one: str, other: str) -> bool:
    """Whether some host name fits both.

    >>> overlap("*.example.com", "a.b.example.com"), overlap("*.example.com", "example.com")
    (True, False)
    """
    one, other = normal(one), normal(other)
    if ANY in (one, other) or one == other:
        return True
    if one.startswith("*.") and other.startswith("*."):
        return one.endswith(other[1:]) or other.endswith(one[1:])
    if one.startswith("*."):
        return other.endswith(one[1:])
    return other.startswith("*.") and one.endswith(other[1:])


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
