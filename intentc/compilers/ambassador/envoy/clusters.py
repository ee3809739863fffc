"""Envoy's clusters (``envoy.config.cluster.v3.Cluster``), and the endpoints of those that are found by discovery.

``..upstream_cluster`` decides what an upstream resolves to, and whether it may be reached. No deprecated fields are
used: HTTP options and DNS are typed extensions (docs/ambassador.md §4.5).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ..settings.traffic import Keepalive, duration
from ..settings.upstream_settings import HealthCheck
from ..upstreams.service_targets import address
from ..upstreams.upstream import Upstream
from . import given, present

_HTTP_OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
_AGGREGATE_TYPE = "type.googleapis.com/envoy.extensions.clusters.aggregate.v3.ClusterConfig"
_DIGITS = 32
_DNS_TYPE = "type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster"


def nowhere(name: str) -> dict[str, Any]:
    """The part of a cluster without endpoints: Envoy answers 503."""
    return {"type": "STATIC", "load_assignment": load_assignment(name, ())}


def by_ads() -> dict[str, Any]:
    """The part of a cluster whose endpoints arrive by EDS under its own name."""
    return {"type": "EDS", "eds_cluster_config": {"eds_config": {"ads": {}, "resource_api_version": "V3"}}}


def by_name(name: str, upstream: Upstream, host: str) -> dict[str, Any]:
    """The part of a cluster that Envoy resolves by DNS, or that has the address ``host``."""
    assignment = load_assignment(name, ((host, upstream.port),))
    if address(host) is not None:
        return {"type": "STATIC", "load_assignment": assignment}
    families = {(True, True): "AUTO", (False, True): "V6_ONLY"}
    dns: dict[str, Any] = {
        "@type": _DNS_TYPE,
        "dns_lookup_family": families.get((upstream.enable_ipv4, upstream.enable_ipv6), "V4_ONLY"),
        **present(
            respect_dns_ttl=upstream.respect_dns_ttl,
            all_addresses_in_single_endpoint=upstream.dns_type == "logical_dns",
        ),
    }
    return {"cluster_type": {"name": "envoy.clusters.dns", "typed_config": dns}, "load_assignment": assignment}


def cluster(
    name: str, upstream: Upstream, location: dict[str, Any], transport_socket: dict[str, Any] | None
) -> dict[str, Any]:
    """A whole cluster. ``location``: the result of one of the functions above; ``transport_socket``: the TLS
    configuration, None for clear text."""
    config: dict[str, Any] = {"name": name, "connect_timeout": duration(upstream.connect_timeout_ms), **location}
    limits = map(msgspec.structs.asdict, upstream.circuit_breakers)
    thresholds = [given(**{**one, "priority": one["priority"].upper()}) for one in limits]
    options = _http_options(upstream)
    return config | present(
        alt_stat_name=upstream.stats_name,
        lb_policy=upstream.load_balancer and upstream.load_balancer.policy.upper(),
        circuit_breakers=thresholds and {"thresholds": thresholds},
        # Envoy rejects several checks without names (docs/ambassador.md §5.11).
        health_checks=[
            {"name": f"check-{number}", **_health_check(check)}
            for number, check in enumerate(upstream.health_checks, 1)
        ],
        upstream_connection_options=upstream.keepalive and {"tcp_keepalive": _keepalive(upstream.keepalive)},
        typed_extension_protocol_options=options and {_HTTP_OPTIONS: options},
        transport_socket=transport_socket,
    )


def _keepalive(keepalive: Keepalive) -> dict[str, Any]:
    return given(
        keepalive_probes=keepalive.probes,
        keepalive_time=keepalive.idle_time,
        keepalive_interval=keepalive.interval,
    )


def _http_options(upstream: Upstream) -> dict[str, Any]:
    """The HTTP options towards the upstream; empty if all of them are Envoy's defaults."""
    idle, longest = upstream.idle_timeout_ms, upstream.max_connection_lifetime_ms
    common = present(idle_timeout=idle and duration(idle), max_connection_duration=longest and duration(longest))
    http1: dict[str, Any] = {"header_key_format": {"proper_case_words": {}}} if upstream.proper_case else {}
    if not (common or http1 or upstream.grpc):
        return {}
    explicit = {"http2_protocol_options": {}} if upstream.grpc else {"http_protocol_options": http1}
    options = {"@type": f"type.googleapis.com/{_HTTP_OPTIONS}", "explicit_http_config": explicit}
    return options | present(common_http_protocol_options=common)


def _health_check(check: HealthCheck) -> dict[str, Any]:
    config: dict[str, Any] = {
        "timeout": duration(check.timeout_ms),
        "interval": duration(check.interval_ms),
        "healthy_threshold": check.healthy_threshold,
        "unhealthy_threshold": check.unhealthy_threshold,
    }
    if check.upstream_name:
        grpc = {"service_name": check.upstream_name, **present(authority=check.authority)}
        return config | {"grpc_health_check": grpc}
    http = present(
        path=check.path,
        host=check.hostname,
        # Envoy's ranges exclude the end.
        expected_statuses=[{"start": first, "end": last + 1} for first, last in check.expected_statuses],
        request_headers_to_add=[
            {
                "header": {"key": header.name, "value": header.value},
                "append_action": "APPEND_IF_EXISTS_OR_ADD" if header.append else "OVERWRITE_IF_EXISTS_OR_ADD",
            }
            for header in check.add_request_headers
        ],
        request_headers_to_remove=list(check.remove_request_headers),
    )
    return config | {"http_health_check": http}


def load_assignment(name: str, endpoints: Iterable[tuple[str, int]]) -> dict[str, Any]:
    """The assignment of the cluster ``name`` to (host, port) endpoints.

    Without endpoints it is an empty assignment: a cluster that waits for its endpoints would keep Envoy from starting,
    one that has none does not.
    """
    found = [
        {"endpoint": {"address": {"socket_address": {"address": host, "port_value": port}}}} for host, port in endpoints
    ]
    return {"cluster_name": name, "endpoints": [{"lb_endpoints": found}] if found else []}


def joined_name(clusters: Sequence[str]) -> str:
    """The name of a joined cluster, which follows from all of its clusters and their order."""
    return f"cluster_joined-{hashlib.sha256(msgspec.msgpack.encode(tuple(clusters))).hexdigest()[:_DIGITS]}"


def joined_cluster(name: str, clusters: Sequence[str]) -> dict[str, Any]:
    """Several clusters as one, with failover: the first cluster that has an endpoint gets the requests."""
    return {
        "name": name,
        "lb_policy": "CLUSTER_PROVIDED",
        "cluster_type": {
            "name": "envoy.clusters.aggregate",
            "typed_config": {"@type": _AGGREGATE_TYPE, "clusters": list(clusters)},
        },
    }
