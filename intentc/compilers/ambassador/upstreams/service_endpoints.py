"""The endpoints of a Service: its ports joined with the ready addresses in the Endpoints of the same name.

Kubernetes names the ports of Endpoints like those of the Service (docs/ambassador.md §4.1); Endpoints that people write
may omit the names, then the target port decides. Addresses that are not ready get no requests. ``targets.py`` decides
whether an address is allowed as a target.

No intent checks them by themselves: a cluster has thousands without a route, and a mistake in one concerns the gateway
only while requests go there. That of a Service is about its annotation (``ambassador/annotated.py``).

It reads and reports problems through ``ctx``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from intentc import Context, View

from .service_url import address
from .upstream import Unreachable

_MOST_PORT = 65535


def service_endpoints(ctx: Context, service: tuple[str, str], port: int) -> tuple[tuple[str, int], ...]:
    """(address, port) of each ready endpoint of ``port`` of the Service (namespace, name), sorted; at least one. It
    reports mistakes on the Endpoints.

    Raises ``Unreachable`` (``NoService``, ``NoPort``, ``NoEndpoints``).
    """
    shown = ":".join(service)
    found = ctx.find("service", service)
    if found is None:
        raise Unreachable("NoService", f"there is no Service {shown}; create it, or use a resolver that asks DNS")
    ports = [one for one in found.ports if _is_tcp(one)]
    declared = next((one for one in ports if one.port == port), None)
    if declared is None:
        known = ", ".join(str(one.port) for one in ports) or "none"
        raise Unreachable("NoPort", f"Service {shown} has no TCP port {port}; write one that it has: {known}")
    listed = ctx.find("endpoints", service)
    if listed is not None:
        _report_mistakes(ctx, shown, listed.subsets)
    endpoints = sorted({endpoint for endpoint, _, _ in _ready(listed, declared)}) if listed is not None else []
    if not endpoints:
        raise Unreachable("NoEndpoints", f"no address behind port {port} of Service {shown} is ready")
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
