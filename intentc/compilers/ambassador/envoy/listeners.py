"""Envoy's listeners: one port, its listener filters, and its filter chains, those of TCP proxies included.

``folded`` gives a listener the form in which etcd stores it: equal filters of many chains are stored once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from intentc.model.hostname_patterns import ANY

from ..routing.tcp_routing import TCPRoute
from ..settings.traffic import duration
from ..tls_context import TLSSettings
from . import given
from .tls_sockets import downstream_tls

_FILTERS = "type.googleapis.com/envoy.extensions.filters.listener"
_TCP_PROXY = "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"
_TLS_INSPECTOR = {
    "name": "envoy.filters.listener.tls_inspector",
    "typed_config": {"@type": f"{_FILTERS}.tls_inspector.v3.TlsInspector"},
}
_PROXY_PROTOCOL = {
    "name": "envoy.filters.listener.proxy_protocol",
    "typed_config": {"@type": f"{_FILTERS}.proxy_protocol.v3.ProxyProtocol"},
}

MOST_PLAIN_CHAINS = 16
"""With more filter chains than this, equal filters are stored once (``folded``)."""

FilterChain = dict[str, Any]


def listener(
    name: str,
    address: str,
    port: int,
    layers: Iterable[str],
    chains: list[FilterChain],
    *,
    buffer_bytes: int | None = None,
) -> dict[str, Any]:
    """A listener on TCP. ``layers``: the protocols on this port; TLS is also inspected if any chain needs it.
    ``buffer_bytes``: the limit of buffered bytes per connection, None for Envoy's default."""
    layers = set(layers)
    # The header of the PROXY protocol comes before TLS.
    filters = [_PROXY_PROTOCOL] if "PROXY" in layers else []
    if "TLS" in layers or any("transport_socket" in chain for chain in chains):
        filters.append(_TLS_INSPECTOR)
    return {
        "name": name,
        "address": {"socket_address": {"address": address, "port_value": port}},
        "traffic_direction": "INBOUND",
        "listener_filters": filters,
        "filter_chains": chains,
        **given(per_connection_buffer_limit_bytes=buffer_bytes),
    }


def tls_chains(
    name: str, hostnames: Collection[str], tls: TLSSettings, network_filter: dict[str, Any]
) -> list[FilterChain]:
    """The chains for clients that request one of ``hostnames`` in the TLS handshake.

    ``*`` has a chain of its own, because Envoy prefers any chain with a wildcard to a chain for all names.
    """
    named = sorted(set(hostnames) - {ANY})
    found = [_tls_chain(name, named, tls, network_filter)] if named else []
    if ANY in hostnames:
        found.append(_tls_chain(f"{name}-any", [], tls, network_filter))
    return found


def _tls_chain(name: str, server_names: list[str], tls: TLSSettings, network_filter: dict[str, Any]) -> FilterChain:
    match: dict[str, Any] = {"transport_protocol": "tls"}
    if server_names:
        match["server_names"] = server_names
    return {
        "name": name,
        "filter_chain_match": match,
        "filters": [network_filter],
        "transport_socket": downstream_tls(tls),
    }


def cleartext_chain(name: str, network_filter: dict[str, Any]) -> FilterChain:
    """The chain for connections without TLS. TLS connections with an unknown name don't match it: they are closed."""
    return {"name": name, "filter_chain_match": {"transport_protocol": "raw_buffer"}, "filters": [network_filter]}


def folded(config: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """(config, shared filters) of a listener with many chains, as etcd stores it.

    The filters of a chain are replaced by an index into the shared filters: otherwise a thousand certificates would
    exceed the size limit of one object. The xDS server reverses this.
    """
    chains: list[FilterChain] = config["filter_chains"]
    if len(chains) <= MOST_PLAIN_CHAINS:
        return config, []
    shared: list[Any] = []
    places: dict[bytes, int] = {}
    numbered = []
    for chain in chains:
        place = places.setdefault(msgspec.json.encode(chain["filters"], order="sorted"), len(shared))
        if place == len(shared):
            shared.append(chain["filters"])
        numbered.append({**chain, "filters": place})
    return {**config, "filter_chains": numbered}, shared


def tcp_filter_chain(route: TCPRoute) -> FilterChain:
    """The chain of one group: for TLS clients that request its host, or for connections that match no other chain."""
    name = f"tcphost-{route.group}"
    if route.tls is None:
        return {"name": name, "filters": [_tcp_proxy(route)]}
    (chain,) = tls_chains(name, [route.host], route.tls, _tcp_proxy(route))
    return chain


def _tcp_proxy(route: TCPRoute) -> dict[str, Any]:
    timeout = None if route.idle_timeout_ms is None else duration(route.idle_timeout_ms)
    weighted = [{"name": name, "weight": part} for name, part in route.clusters]
    config: dict[str, Any] = {
        "@type": _TCP_PROXY,
        "stat_prefix": f"ingress_{'tcp' if route.tls is None else 'tls'}_{route.port}",
        **({"weighted_clusters": {"clusters": weighted}} if len(weighted) != 1 else {"cluster": weighted[0]["name"]}),
        **given(idle_timeout=timeout),
    }
    return {"name": "envoy.filters.network.tcp_proxy", "typed_config": config}
