"""Filter chains for TCP proxying (``envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy``)."""

from __future__ import annotations

from typing import Any

from ..durations import duration
from ..routing.tcp_routing import TCPRoute
from .listener import FilterChain, tls_chains

_TYPE = "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"


def tcp_filter_chain(route: TCPRoute) -> FilterChain:
    """The chain of one group: for TLS clients that request its host, or for connections that match no other chain."""
    name = f"tcphost-{route.group}"
    if route.tls is None:
        return {"name": name, "filters": [_tcp_proxy(route)]}
    (chain,) = tls_chains(name, [route.host], route.tls, _tcp_proxy(route))
    return chain


def _tcp_proxy(route: TCPRoute) -> dict[str, Any]:
    config: dict[str, Any] = {
        "@type": _TYPE,
        "stat_prefix": f"ingress_{'tcp' if route.tls is None else 'tls'}_{route.port}",
    }
    if len(route.clusters) == 1:
        config["cluster"] = route.clusters[0][0]
    else:
        clusters = [{"name": name, "weight": part} for name, part in route.clusters]
        config["weighted_clusters"] = {"clusters": clusters}
    if route.idle_timeout_ms is not None:
        config["idle_timeout"] = duration(route.idle_timeout_ms)
    return {"name": "envoy.filters.network.tcp_proxy", "typed_config": config}
