"""An upstream: all the settings of one cluster, and the name that follows from all of them.

Resources that lead to a service (Mappings, TCPMappings, Ingresses, AuthService, RateLimitService, TracingService,
LogService, the Module) call ``upstream`` for the settings. They, or the groups to which they contribute, yield
``Fact("cluster", upstream.name, ClusterUse(upstream, origins))``; ``envoy/clusters.py`` makes the cluster. Two uses
share a cluster exactly if all their settings are equal (docs/ambassador.md §5.6); the users are not part of its
identity.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

import msgspec

from intentc import Context, Source

from ..plain import plain
from ..settings.module_settings import ModuleSettings
from ..settings.traffic import CircuitBreaker, Keepalive, LoadBalancer
from ..settings.upstream_settings import HealthCheck
from ..this_gateway import Unusable
from ..tls_context import check_server_name
from .service_targets import address, parse_service

DEFAULT_RESOLVER = "kubernetes-service"
DEFAULT_CONNECT_TIMEOUT_MS = 3000
DNS_TYPES = ("strict_dns", "logical_dns")
_LONGEST_READABLE_START = 40
_UNREADABLE = re.compile(r"[^0-9A-Za-z_]")


class UpstreamRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a resource asks for. 0, empty texts and None mean "not set" (the Module, then a default); empty
    ``circuit_breakers``, an empty ``keepalive``, and ``own_load_balancer`` without one mean none.

    ``namespace``: of the resource, in which names are looked up. ``service``: ``[https://]host[:port]``. ``tls``:
    ``"true"``, ``"false"`` or a TLSContext's name. ``host_rewrite``: the host that the upstream sees, also in the TLS
    handshake. ``marker``: separates clusters that must not be shared although their settings are equal (``shadow``,
    ``extauth``, …). Times are in milliseconds.
    """

    namespace: str
    service: str
    grpc: bool = False
    tls: str = ""
    resolver: str = ""
    load_balancer: LoadBalancer | None = None
    own_load_balancer: bool = False
    circuit_breakers: tuple[CircuitBreaker, ...] | None = None
    connect_timeout_ms: int = 0
    cluster_idle_timeout_ms: int = 0
    cluster_max_connection_lifetime_ms: int = 0
    dns_type: str = ""
    respect_dns_ttl: bool = False
    enable_ipv4: bool | None = None
    enable_ipv6: bool | None = None
    keepalive: Keepalive | None = None
    health_checks: tuple[HealthCheck, ...] = ()
    stats_name: str = ""
    cluster_tag: str = ""
    marker: str = ""
    host_rewrite: str = ""


class Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of a cluster, complete: the Module is already applied.

    ``host``: DNS name or address, as it was written. ``service_namespace``: that of an unqualified host, empty for the
    gateway's (and for qualified ones). ``namespace``: where ``tls_context`` and ``resolver`` are looked up first; empty
    if neither is named. ``tls``: whether TLS is used; if the ``tls_context`` does not exist, nothing is sent at all.
    ``sni``: the name in the handshake, empty: that of the context, or the host. ``dns_type``: ``strict_dns`` or
    ``logical_dns``. ``stats_name``: the name in statistics, the service as it is written if nobody sets one
    (docs/ambassador.md §6.5). Times are in milliseconds, 0: none.
    """

    host: str
    port: int
    service_namespace: str = ""
    namespace: str = ""
    resolver: str = DEFAULT_RESOLVER
    tls: bool = False
    tls_context: str = ""
    sni: str = ""
    grpc: bool = False
    proper_case: bool = False
    load_balancer: LoadBalancer | None = None
    circuit_breakers: tuple[CircuitBreaker, ...] = ()
    connect_timeout_ms: int = DEFAULT_CONNECT_TIMEOUT_MS
    idle_timeout_ms: int = 0
    max_connection_lifetime_ms: int = 0
    dns_type: str = "strict_dns"
    respect_dns_ttl: bool = False
    enable_ipv4: bool = True
    enable_ipv6: bool = False
    keepalive: Keepalive | None = None
    health_checks: tuple[HealthCheck, ...] = ()
    stats_name: str = ""
    cluster_tag: str = ""
    marker: str = ""

    @property
    def name(self) -> str:
        """A readable start, and a hash over every field.

        msgpack writes the length before each text and list, so different upstreams have different bytes
        (docs/ambassador.md §5.8).
        """
        start = "_".join(part for part in (self.cluster_tag, self.marker, self.host, str(self.port)) if part)
        readable = _UNREADABLE.sub("_", f"cluster_{start}")[:_LONGEST_READABLE_START]
        return f"{readable}-{hashlib.sha256(msgspec.msgpack.encode(self)).hexdigest()[:32]}"

    def service(self, gateway_namespace: str) -> tuple[str, str] | None:
        """(namespace, name) of the Service that the host means, None if it can't be one: ``name``, ``name.namespace``
        or ``name.namespace.svc[.<domain>]``."""
        if address(self.host) is not None or self.host == "localhost":
            return None
        name, *rest = self.host.removesuffix(".").split(".")
        if not rest:
            return self.service_namespace or gateway_namespace, name
        return (rest[0], name) if len(rest) == 1 or rest[1] == "svc" else None

    def dns_name(self, gateway_namespace: str) -> str:
        """The host as DNS is asked for it: qualified, unless it is in the gateway's namespace (docs/ambassador.md
        §4.4)."""
        elsewhere = self.service_namespace not in ("", gateway_namespace)
        return f"{self.host}.{self.service_namespace}" if elsewhere else self.host


def tls_named(field: Any) -> str:
    """The field ``tls`` of a resource: ``true``, ``false``, the name of a TLSContext, or empty. Raises ``Unusable``: no
    fallback to clear text."""
    given = plain(field) if field else None
    if given is None or isinstance(given, bool):
        return "" if given is None else str(given).lower()
    if not isinstance(given, str):
        raise Unusable("InvalidTLS", f"tls {given!r}: the name of a TLSContext, or (v2) true or false is expected")
    return given


class ClusterUse(msgspec.Struct, frozen=True):
    """The value of a fact ``cluster``: an upstream, and the users' resources that ask for it."""

    upstream: Upstream
    origins: tuple[Source, ...]


def used_upstream(ctx: Context, cluster: str) -> Upstream:
    """The upstream of a cluster that is in use. All that use it have equal ones: the name is a hash of the upstream."""
    found: Upstream = ctx.contributions("cluster", cluster)[0][1].upstream
    return found


def upstream(request: UpstreamRequest, module: ModuleSettings) -> Upstream:
    """The upstream of ``request``. Raises ``Unusable`` (``InvalidService``, ``InvalidDnsType``, ``InvalidText``).

    The caller reports that on its resource, and sends requests nowhere else. A scheme ``https`` or a TLS context means
    TLS whatever else is set: contradicting settings never result in clear text.
    """
    try:
        url = parse_service(request.service)
    except ValueError as error:
        raise Unusable("InvalidService", str(error)) from None
    dns_type = request.dns_type.lower() or "strict_dns"
    if dns_type not in DNS_TYPES:
        raise Unusable("InvalidDnsType", f"dns_type {request.dns_type!r} is unknown; write {' or '.join(DNS_TYPES)}")
    context = "" if request.tls in ("", "true", "false") else request.tls
    tls = url.scheme == "https" or request.tls == "true" or bool(context)
    resolver = request.resolver or module.resolver or DEFAULT_RESOLVER
    # A host that is only the name of a service, without a namespace.
    unqualified = "." not in url.host and ":" not in url.host and url.host != "localhost"
    in_gateways = not unqualified or module.use_ambassador_namespace_for_service_resolution
    # The Module's policy applies only to upstreams with endpoints to choose from.
    balancer = request.load_balancer
    if balancer is None and not request.own_load_balancer and resolver != DEFAULT_RESOLVER:
        balancer = module.load_balancer
    return Upstream(
        host=url.host,
        port=url.port or (443 if tls else 80),
        service_namespace="" if in_gateways else request.namespace,
        namespace=request.namespace if context or resolver != DEFAULT_RESOLVER else "",
        resolver=resolver,
        tls=tls,
        tls_context=context,
        sni=_server_name(request.host_rewrite) if tls else "",
        grpc=request.grpc,
        proper_case=module.proper_case and not request.grpc,
        load_balancer=balancer,
        circuit_breakers=module.circuit_breakers if request.circuit_breakers is None else request.circuit_breakers,
        connect_timeout_ms=request.connect_timeout_ms or DEFAULT_CONNECT_TIMEOUT_MS,
        idle_timeout_ms=request.cluster_idle_timeout_ms or module.cluster_idle_timeout_ms,
        max_connection_lifetime_ms=request.cluster_max_connection_lifetime_ms
        or module.cluster_max_connection_lifetime_ms,
        dns_type=dns_type,
        respect_dns_ttl=request.respect_dns_ttl,
        enable_ipv4=module.enable_ipv4 if request.enable_ipv4 is None else request.enable_ipv4,
        enable_ipv6=module.enable_ipv6 if request.enable_ipv6 is None else request.enable_ipv6,
        keepalive=_keepalive(request, module),
        health_checks=request.health_checks,
        stats_name=request.stats_name or _UNREADABLE.sub("_", request.service),
        cluster_tag=request.cluster_tag,
        marker=request.marker,
    )


def _keepalive(request: UpstreamRequest, module: ModuleSettings) -> Keepalive | None:
    """Its own, even an empty one, which means none; otherwise the Module's."""
    if request.keepalive is None:
        return module.keepalive
    return request.keepalive if request.keepalive != Keepalive() else None


def _server_name(host: str) -> str:
    """The part of a ``Host`` header that a TLS handshake may contain: the name without its port, no address. Raises
    ``Unusable``."""
    if not host:
        return ""
    name = host.rpartition(":")[0] if re.fullmatch(r"(\[[^]]*\]|[^:]*):[0-9]+", host) else host
    try:
        check_server_name(name, "host_rewrite")
    except Unusable as unusable:
        raise Unusable("InvalidText", unusable.message) from None
    return "" if address(name.strip("[]")) is not None else name
