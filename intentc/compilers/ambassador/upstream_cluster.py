"""Clusters: each upstream in use becomes one, with its endpoints if Envoy balances among them.

Here an upstream is resolved: resolvers, Services and Endpoints, TLSContexts and Secrets, and the allowed targets, as
``upstreams`` reads them. If it can't be reached as requested, the cluster has no endpoints and answers 503; it never
falls back to clear text (docs/ambassador.md §5.7). Problems are reported on the resources that lead there.
``envoy/clusters.py`` makes the JSON. Clusters that join several are claimed by ``auth_service.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from intentc import Claim, Context, Fact, Intent

from .envoy.clusters import by_ads, by_name, cluster, load_assignment, nowhere
from .envoy.tls_sockets import upstream_tls
from .envoy_elements import element
from .faults import Faults
from .reasons import used_clusters as reasons
from .reasons.used_clusters import cluster_parts, endpoint_parts
from .this_gateway import Unusable, gateway_namespace
from .tls_context import names
from .upstreams.resolvers import Discovery, service_endpoints
from .upstreams.service_targets import allowed_targets, forbidden
from .upstreams.upstream import ClusterUse, Upstream, used_upstream
from .upstreams.way import Way, way_to

Endpoints = tuple[tuple[str, int], ...]


class ClusterIntent(Intent):
    """One upstream, by the name that follows from its settings."""

    kind = "cluster"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        uses: list[ClusterUse] = [use for _, use in ctx.contributions("cluster", self.uuid)]
        origins = {origin for use in uses for origin in use.origins}
        upstream = used_upstream(ctx, self.uuid)
        troubles: list[Unusable] = []
        notes: list[Unusable] = []
        way = way_to(ctx, upstream, troubles)
        upstream = _usable(upstream, way, notes)
        endpoints = _endpoints(ctx, upstream, troubles, notes) if way.discovery is Discovery.ENDPOINTS else None
        faults = Faults(ctx)
        for found, report in ((troubles, faults.report_on), (notes, ctx.problem_on)):
            for reason, message in dict.fromkeys((trouble.reason, trouble.message) for trouble in found):
                for kind, name in sorted({(origin.kind, origin.name) for origin in origins}):
                    report(kind, name, reason, message)
        yield from faults.facts()
        transport_socket = None
        if way.tls is not None and way.discovery is not None:
            transport_socket = upstream_tls(way.tls, way.server_name, upstream.grpc)
        config = cluster(self.uuid, upstream, _location(self.uuid, upstream, way), transport_socket)
        yield element(
            self,
            ctx,
            "envoy_cluster",
            (self.uuid,),
            config,
            origins,
            why=lambda: reasons.cluster(ctx, self.uuid),
            parts=lambda: cluster_parts(ctx, self.uuid, config),
        )
        if endpoints is not None:
            yield element(
                self,
                ctx,
                "envoy_endpoints",
                (self.uuid,),
                load_assignment(self.uuid, endpoints),
                origins,
                why=lambda: reasons.endpoints(ctx, self.uuid),
                parts=lambda: endpoint_parts(ctx, self.uuid, endpoints),
            )
        # Also for Secrets that can't be used, so that the problem is reported on the Secret.
        yield from (Fact("secret_use", name, "") for name in names(way.tls))


def _usable(upstream: Upstream, way: Way, notes: list[Unusable]) -> Upstream:
    """Returns ``upstream`` without settings that can't have an effect, and reports each: Envoy would reject the whole
    cluster, or ignore them."""
    changes: dict[str, Any] = {}
    for reason, message, change in _mistakes(upstream, way):
        notes.append(Unusable(reason, message))
        changes |= change
    return msgspec.structs.replace(upstream, **changes)


def _mistakes(upstream: Upstream, way: Way) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yields (reason, message, the fields with their replacements)."""
    by_dns = way.discovery is Discovery.DNS
    needed = f"needs endpoints, and resolver {upstream.resolver!r} gives one name alone; it is left out"
    hint = "use `resolver: endpoint`"
    balancer = upstream.load_balancer
    if by_dns and balancer is not None and balancer.policy != "round_robin":
        yield "NeedsEndpoints", f"load_balancer: {balancer.policy} {needed}; {hint}", {"load_balancer": None}
    checks = upstream.health_checks
    if by_dns and checks:
        yield "NeedsEndpoints", f"health_checks: checking {needed}; {hint}", {"health_checks": ()}
    elif not upstream.grpc and any(check.upstream_name for check in checks):
        message = "health_checks: a check over gRPC needs `grpc: true`; it is left out"
        kept = tuple(check for check in checks if not check.upstream_name)
        yield "InvalidHealthCheck", message, {"health_checks": kept}
    if not upstream.enable_ipv4 and not upstream.enable_ipv6:
        message = "enable_ipv4 and enable_ipv6 are both false; IPv4 is used. Switch one of them on"
        yield "NoAddressFamily", message, {"enable_ipv4": True}


def _endpoints(ctx: Context, upstream: Upstream, troubles: list[Unusable], notes: list[Unusable]) -> Endpoints:
    """The allowed endpoints of ``upstream``; reports why there are none, and notes what removes some of them."""
    service = upstream.service(gateway_namespace(ctx))
    try:
        if service is None:
            message = f"{upstream.host} is not a Service, and resolver {upstream.resolver!r} knows nothing else"
            raise Unusable("NoService", f"{message}; write name, name.namespace, or use another resolver")
        found = service_endpoints(ctx, service, upstream.port)
    except Unusable as trouble:
        troubles.append(Unusable(trouble.reason, f"{trouble.message}. Until then requests to it get 503"))
        return ()
    allowed = allowed_targets(ctx)
    forbidden_hosts = sorted({host for host, _ in found if forbidden(host, allowed)})
    if forbidden_hosts:
        message = (
            f"Endpoints {':'.join(service)}: {', '.join(forbidden_hosts)} is the gateway's own machine, or its cloud's"
        )
        hint = "metadata; it is left out. Remove it there, or allow it in the setting ambassador.allowed_targets"
        notes.append(Unusable("ForbiddenTarget", f"{message} {hint}"))
    return tuple((host, port) for host, port in found if host not in forbidden_hosts)


def _location(name: str, upstream: Upstream, way: Way) -> dict[str, Any]:
    match way.discovery:
        case Discovery.DNS:
            return by_name(name, upstream, way.host)
        case Discovery.ENDPOINTS:
            return by_ads()
        case _:
            return nowhere(name)
