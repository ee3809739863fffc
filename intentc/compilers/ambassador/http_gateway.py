"""The gateway's services and settings as one typed value: what every HTTP listener shares.

The intents of AuthService, RateLimitService, TracingService and LogService yield their part as facts ``http_filter``,
by role; ``gateway`` collects them. ``envoy/`` converts the value to Envoy's JSON.

The gateway's own paths are liveness, readiness and diagnostics (docs/ambassador.md §4.5, §4.6). Without a service,
Envoy answers the probes itself, for every host and every client: a filter does it, so that no route and no guard
interferes. Envoy has no answer for diagnostics: they are served next to the gateway, locally, and a Module must name a
service to publish them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from intentc import Context, Fact, Intent, Source, View

from .routing.route_action import Forward, GroupMember, RouteMatch, Share, Treatment, group_name
from .settings.module_settings import MODULE_NAME, ModuleSettings, Probe, all_settings, module_settings
from .settings.upstream_settings import circuit_breakers
from .this_gateway import Unusable, in_order, ours
from .upstreams.upstream import ClusterUse, Upstream, UpstreamRequest, tls_named, upstream


def takes_effect(service: Intent, ctx: Context, called: str) -> bool:
    """Whether ``service`` is the one of its kind that takes effect (``in_order``); reports a problem on the others.

    ``called``: the kind as users write it.
    """
    first = next(in_order(service.kind, ctx))
    if first.key == service.key:
        return True
    ctx.problem(
        f"Second{called}",
        f"the {called} {':'.join(first.fq_name)} takes effect, as the gateway's own or the first by name, and this one "
        "has no effect; delete one of the two",
    )
    return False


def service_upstream(
    service: View, ctx: Context, field: str, *, grpc: bool, marker: str, tls: Any = None, breakers: Any = None
) -> Upstream:
    """The upstream that ``field`` names. ``tls``: the value of the field ``tls``, ``breakers`` of ``circuit_breakers``,
    where the kind has them. Raises ``Unusable``."""
    try:
        limits = circuit_breakers(breakers)
    except ValueError as error:
        raise Unusable("InvalidSetting", f"circuit_breakers: {error}") from None
    return upstream(
        UpstreamRequest(
            namespace=service.fq_name[0],
            service=service.field(field),
            grpc=grpc,
            tls=tls_named(tls),
            circuit_breakers=limits,
            stats_name=service.stats_name,
            marker=marker,
        ),
        module_settings(ctx),
    )


def cluster_use(service: View, field: str, used: Upstream) -> Fact:
    """The fact that ``field`` of ``service`` uses the cluster."""
    return Fact("cluster", used.name, ClusterUse(used, (Source.of(service, field),)))


AUTH = "auth"
RATE_LIMIT = "rate_limit"
TRACING = "tracing"
LOG = "log"


class Misconfigured(msgspec.Struct, frozen=True):
    """Every request must be rejected, because a guard is misconfigured; ``service`` names its resource
    (``namespace:name``)."""

    kind: str
    service: str


class AuthFilter(msgspec.Struct, frozen=True):
    """The service that authorizes requests. Headers are lower case; ``max_body_bytes`` 0: without the body.
    ``add_headers``: (name, value) pairs; ``status_on_error`` 0: Envoy's default (403)."""

    cluster: str
    protocol: Literal["http", "grpc"]
    host: str
    timeout_ms: int
    path_prefix: str = ""
    request_headers: tuple[str, ...] = ()
    authorization_headers: tuple[str, ...] = ()
    add_headers: tuple[tuple[str, str], ...] = ()
    max_body_bytes: int = 0
    partial_body: bool = False
    status_on_error: int = 0
    failure_mode_allow: bool = False


class RateLimitFilter(msgspec.Struct, frozen=True):
    """The service that limits request rates. ``resource_exhausted``: gRPC clients get RESOURCE_EXHAUSTED instead of
    UNAVAILABLE."""

    cluster: str
    domain: str
    timeout_ms: int
    failure_mode_deny: bool = False
    resource_exhausted: bool = False


class CustomTag(msgspec.Struct, frozen=True):
    """A tag of spans: ``value`` is the literal, or the name of the header or variable that holds it."""

    tag: str
    source: Literal["literal", "environment", "request_header"]
    value: str
    default: str = ""


class Tracing(msgspec.Struct, frozen=True):
    """Where spans go. Sampling in percent, None: all. Fields that a driver does not know are empty."""

    driver: Literal["zipkin", "datadog", "opentelemetry"]
    cluster: str
    service_name: str = ""
    collector_endpoint: str = ""
    collector_hostname: str = ""
    collector_endpoint_version: str = ""
    trace_id_128bit: bool = True
    shared_span_context: bool | None = None
    client_sampling: int | None = None
    random_sampling: int | None = None
    overall_sampling: int | None = None
    custom_tags: tuple[CustomTag, ...] = ()


class LogSink(msgspec.Struct, frozen=True, order=True):
    """A service that receives the access log by gRPC; the headers are logged with each entry (``http`` only)."""

    log_name: str
    cluster: str
    driver: Literal["http", "tcp"]
    flush_interval_ms: int
    flush_bytes: int
    request_headers: tuple[str, ...] = ()
    response_headers: tuple[str, ...] = ()
    trailers: tuple[str, ...] = ()


class Gateway(msgspec.Struct, frozen=True):
    """What all listeners share, and the resources that it follows from."""

    settings: ModuleSettings = ModuleSettings()
    auth: AuthFilter | Misconfigured | None = None
    rate_limit: RateLimitFilter | Misconfigured | None = None
    tracing: Tracing | None = None
    logs: tuple[LogSink, ...] = ()
    origins: tuple[Source, ...] = ()


def gateway(ctx: Context) -> Gateway:
    """Builds the gateway from the facts of its resources.

    An AuthService that can't be read, or that was never compiled, closes the gateway like a misconfigured one.
    """
    return Gateway(
        settings=all_settings(ctx),
        auth=ctx.fact("http_filter", AUTH) or next(_closed_by(ctx), None),
        rate_limit=ctx.fact("http_filter", RATE_LIMIT),
        tracing=ctx.fact("http_filter", TRACING),
        logs=tuple(sorted(sink for _, sink in ctx.contributions("http_filter", LOG))),
        origins=tuple(sorted(_origins(ctx))),
    )


def _origins(ctx: Context) -> Iterator[Source]:
    facts = [("module_settings", MODULE_NAME), *(("http_filter", role) for role in (AUTH, RATE_LIMIT, TRACING, LOG))]
    for kind, name in facts:
        for contributor, _ in ctx.contributions(kind, name):
            resource = ctx.get(contributor.kind, contributor.uuid)
            if resource is not None:
                yield Source.of(resource)


def _closed_by(ctx: Context) -> Iterator[Misconfigured]:
    services = (service for service in ctx.all("auth_service") if ours(service, ctx))
    return (Misconfigured(service.kind, ":".join(service.fq_name)) for service in services)


_PATHS = {
    "liveness_probe": "/ambassador/v0/check_alive",
    "readiness_probe": "/ambassador/v0/check_ready",
    "diagnostics": "/ambassador/v0/",
}
_EVERY_HOST = "|*"
_TIMEOUT_MS = 10_000


def own_paths(settings: ModuleSettings) -> dict[str, Probe]:
    """The Module's key → the path that it opens, for those that are enabled, with defaults filled in."""
    found: dict[str, Probe] = {}
    for name, path in _PATHS.items():
        probe: Probe = getattr(settings, name)
        if probe.enabled:
            found[name] = Probe(True, probe.prefix or path, probe.rewrite or path, probe.service)
    return found


def answered(settings: ModuleSettings) -> dict[str, str]:
    """The Module's key → the path that Envoy answers itself."""
    return {
        name: probe.prefix for name, probe in own_paths(settings).items() if not probe.service and name != "diagnostics"
    }


def asked_elsewhere(settings: ModuleSettings) -> dict[str, Probe]:
    """The Module's key → the path that a service answers."""
    return {name: probe for name, probe in own_paths(settings).items() if probe.service}


def probe_routes(module: Intent, ctx: Context, settings: ModuleSettings) -> Iterable[Fact]:
    """Yields the routes of the paths that services answer, as Mappings would. A path with a problem, which is reported
    on the ``module``, is omitted."""
    for name, probe in asked_elsewhere(settings).items():
        match = RouteMatch(tables=(_EVERY_HOST,), path=probe.prefix, authority="*")
        try:
            target = upstream(UpstreamRequest(namespace=module.fq_name[0], service=probe.service), settings)
        except Unusable as unusable:
            ctx.problem(unusable.reason, f"config.{name}.service: {unusable.message}; {probe.prefix} is not answered")
            continue
        member = GroupMember(
            kind=module.kind,
            name=":".join(module.fq_name),
            match=match,
            action=Forward(Share(target), treatment=Treatment(prefix_rewrite=probe.rewrite, timeout_ms=_TIMEOUT_MS)),
            fields=(f"config.{name}.prefix", f"config.{name}.service"),
        )
        yield Fact("mapping_group", group_name(match), member)
