"""Envoy's clusters (``envoy.config.cluster.v3.Cluster``), and the endpoints of those that are found by discovery.

``..cluster`` decides what an upstream resolves to, and whether it may be reached. No deprecated fields are used: HTTP
options and DNS are typed extensions (docs/ambassador.md §4.5).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ..settings.traffic import CircuitBreaker, Keepalive, duration
from ..settings.upstream_settings import HealthCheck
from ..upstreams.targets import address
from ..upstreams.upstream import Upstream

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
    }
    if upstream.respect_dns_ttl:
        dns["respect_dns_ttl"] = True
    if upstream.dns_type == "logical_dns":
        dns["all_addresses_in_single_endpoint"] = True
    return {"cluster_type": {"name": "envoy.clusters.dns", "typed_config": dns}, "load_assignment": assignment}


def cluster(
    name: str, upstream: Upstream, location: dict[str, Any], transport_socket: dict[str, Any] | None
) -> dict[str, Any]:
    """A whole cluster. ``location``: the result of one of the functions above; ``transport_socket``: the TLS
    configuration, None for clear text."""
    config: dict[str, Any] = {"name": name, "connect_timeout": duration(upstream.connect_timeout_ms), **location}
    if upstream.stats_name:
        config["alt_stat_name"] = upstream.stats_name
    if upstream.load_balancer is not None:
        config["lb_policy"] = upstream.load_balancer.policy.upper()
    if upstream.circuit_breakers:
        config["circuit_breakers"] = {"thresholds": [_thresholds(breaker) for breaker in upstream.circuit_breakers]}
    if upstream.health_checks:
        # Envoy rejects several checks without names (docs/ambassador.md §5.11).
        config["health_checks"] = [
            {"name": f"check-{number}", **_health_check(check)}
            for number, check in enumerate(upstream.health_checks, 1)
        ]
    if upstream.keepalive is not None:
        config["upstream_connection_options"] = {"tcp_keepalive": _keepalive(upstream.keepalive)}
    options = _http_options(upstream)
    if options:
        config["typed_extension_protocol_options"] = {_HTTP_OPTIONS: options}
    if transport_socket is not None:
        config["transport_socket"] = transport_socket
    return config


def _thresholds(breaker: CircuitBreaker) -> dict[str, Any]:
    limits = {
        "max_connections": breaker.max_connections,
        "max_pending_requests": breaker.max_pending_requests,
        "max_requests": breaker.max_requests,
        "max_retries": breaker.max_retries,
    }
    return {"priority": breaker.priority.upper(), **{key: value for key, value in limits.items() if value is not None}}


def _keepalive(keepalive: Keepalive) -> dict[str, Any]:
    given = {
        "keepalive_probes": keepalive.probes,
        "keepalive_time": keepalive.idle_time,
        "keepalive_interval": keepalive.interval,
    }
    return {key: value for key, value in given.items() if value is not None}


def _http_options(upstream: Upstream) -> dict[str, Any]:
    """The HTTP options towards the upstream; empty if all of them are Envoy's defaults."""
    common: dict[str, Any] = {}
    if upstream.idle_timeout_ms:
        common["idle_timeout"] = duration(upstream.idle_timeout_ms)
    if upstream.max_connection_lifetime_ms:
        common["max_connection_duration"] = duration(upstream.max_connection_lifetime_ms)
    http1: dict[str, Any] = {}
    if upstream.proper_case:
        http1["header_key_format"] = {"proper_case_words": {}}
    if not (common or http1 or upstream.grpc):
        return {}
    explicit = {"http2_protocol_options": {}} if upstream.grpc else {"http_protocol_options": http1}
    options: dict[str, Any] = {"@type": f"type.googleapis.com/{_HTTP_OPTIONS}", "explicit_http_config": explicit}
    if common:
        options["common_http_protocol_options"] = common
    return options


def _health_check(check: HealthCheck) -> dict[str, Any]:
    config: dict[str, Any] = {
        "timeout": duration(check.timeout_ms),
        "interval": duration(check.interval_ms),
        "healthy_threshold": check.healthy_threshold,
        "unhealthy_threshold": check.unhealthy_threshold,
    }
    if check.upstream_name:
        config["grpc_health_check"] = {"service_name": check.upstream_name}
        if check.authority:
            config["grpc_health_check"]["authority"] = check.authority
        return config
    http: dict[str, Any] = {"path": check.path}
    if check.hostname:
        http["host"] = check.hostname
    if check.expected_statuses:
        # Envoy's ranges exclude the end.
        http["expected_statuses"] = [{"start": first, "end": last + 1} for first, last in check.expected_statuses]
    if check.add_request_headers:
        http["request_headers_to_add"] = [
            {
                "header": {"key": header.name, "value": header.value},
                "append_action": "APPEND_IF_EXISTS_OR_ADD" if header.append else "OVERWRITE_IF_EXISTS_OR_ADD",
            }
            for header in check.add_request_headers
        ]
    if check.remove_request_headers:
        http["request_headers_to_remove"] = list(check.remove_request_headers)
    config["http_health_check"] = http
    return config


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
