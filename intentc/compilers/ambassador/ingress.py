"""An Ingress means Mappings, one for each of its paths, and Hosts, one for each name with a certificate.

It contributes to the same groups and hostnames as Mappings and Hosts, and the same rules apply to it. It may also carry
resources in an annotation, and gets the gateway's addresses as status (``annotated.py``). ``this_gateway.py`` decides
whether it belongs to this gateway; one of another class or gateway has no effect. What a Mapping can set and an Ingress
can't (timeouts, retries, headers) has the Module's values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from intentc import Claim, Context, Fact, Intent
from intentc.model.hostname_patterns import ANY, covering, is_pattern

from .annotated import annotated, published
from .host import check_hostname, check_secrets
from .host_binding import HOSTS, HostBinding, crossing_members, wildcard_host
from .routing.route_action import (
    EXACT,
    PREFIX,
    SEGMENTS,
    Core,
    Forward,
    GroupMember,
    HeaderChanges,
    RegexRewrite,
    RouteMatch,
    Share,
    Treatment,
    group_name,
)
from .settings.module_settings import ModuleSettings, module_settings
from .settings.upstream_settings import HASHING
from .this_gateway import Unusable, annotated_for_us, of_our_class, report_variables
from .tls_context import TLSSettings, names
from .upstreams.upstream import Upstream, UpstreamRequest, upstream

KEEP_PATHS = "ambassador.ingress_keeps_paths"
"""The setting with which services get the path as the client sent it."""


def forward(
    ctx: Context, namespace: str, backend: Any, module: ModuleSettings, cut_off: RouteMatch | None = None
) -> Forward:
    """The action for an ``IngressBackend`` in ``namespace``. Raises ``Unusable``.

    ``cut_off``: the match, if ``/`` replaces the matched part of the path, as with a Mapping's ``rewrite``.
    """
    balancer, defaults = module.load_balancer, module.defaults
    headers = HeaderChanges(
        add_request=defaults.add_request_headers,
        add_response=defaults.add_response_headers,
        remove_request=defaults.remove_request_headers,
        remove_response=defaults.remove_response_headers,
    )
    whole_segments = None
    if cut_off is not None and cut_off.path_sort == SEGMENTS:
        # For `/a` the paths `/a` and `/a/b` become `/` and `/b`; a prefix rewrite would leave `//b`.
        whole_segments = RegexRewrite(f"^{re.escape(cut_off.path)}/?", "/")
    return Forward(
        Share(_upstream(ctx, namespace, backend, module), headers),
        Core(hash_on=balancer if balancer is not None and balancer.policy in HASHING else None),
        Treatment(
            prefix_rewrite="/" if cut_off is not None and cut_off.path_sort != SEGMENTS and cut_off.path != "/" else "",
            regex_rewrite=whole_segments,
            timeout_ms=module.cluster_request_timeout_ms,
            retry_policy=module.retry_policy,
            cors=module.cors,
        ),
    )


def _upstream(ctx: Context, namespace: str, backend: Any, module: ModuleSettings) -> Upstream:
    if backend.resource:
        raise Unusable("Unsupported", "a backend can't be a resource; name a Service")
    service = backend.service
    if not service.name or not (service.port.number or service.port.name):
        hint = "write service.name, and service.port.number or .name (networking.k8s.io/v1)"
        raise Unusable("InvalidBackend", f"it names no Service with a port; {hint}")
    port = service.port.number or _port_named(ctx, (namespace, service.name), service.port.name)
    request = UpstreamRequest(
        namespace=namespace, service=f"{service.name}:{port}", stats_name=module.defaults.stats_name
    )
    return upstream(request, module)


def _port_named(ctx: Context, service: tuple[str, str], name: str) -> int:
    found = ctx.find("service", service)
    if found is None:
        message = f"there is no Service {':'.join(service)}, whose port {name!r} is meant; create it"
        raise Unusable("NoService", f"{message}, or write the port's number")
    numbers: list[int] = [port.port for port in found.ports if port.name == name]
    if not numbers:
        known = ", ".join(port.name for port in found.ports if port.name) or "none"
        raise Unusable("NoPort", f"Service {':'.join(service)} has no port {name!r}; it has {known}")
    return numbers[0]


_LAST = -1
"""The precedence of a default backend: after all other routes."""


class Path(NamedTuple):
    """A path of an Ingress. ``field``: the field that holds it; ``backend``: the field of its backend."""

    field: str
    match: RouteMatch
    backend: Any
    backend_field: str


class IngressIntent(Intent):
    kind = "ingress"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if not annotated_for_us(self, ctx) or not of_our_class(self, ctx):
            return
        report_variables(self, ctx)
        yield from annotated(self, ctx)
        yield from self._members(ctx)
        yield from self._hosts(ctx)
        yield from published(self, ctx)

    # Paths, as Mappings

    def _members(self, ctx: Context) -> Iterator[Fact]:
        module, kept = module_settings(ctx), ctx.setting(KEEP_PATHS, False) is True
        groups: dict[str, list[Path]] = {}
        for path in self._paths(ctx):
            groups.setdefault(group_name(path.match), []).append(path)
        for group, (path, *again) in groups.items():
            for other in again:
                message = f"{other.field} matches the same as {path.field}, which takes effect; remove one of them"
                ctx.problem("DuplicatePath", message)
            action = trouble = None
            try:
                action = forward(ctx, self.fq_name[0], path.backend, module, None if kept else path.match)
            except Unusable as unusable:
                trouble = (unusable.reason, f"{path.backend_field}: {unusable.message}")
            member = GroupMember(
                kind=self.kind,
                name=":".join(self.fq_name),
                match=path.match,
                action=action,
                trouble=trouble,
                stats_name=module.defaults.stats_name,
                fields=(path.field, path.backend_field),
                again=tuple(other.field for other in again),
            )
            yield Fact("mapping_group", group, member)
            yield from crossing_members(ctx, member)

    def _paths(self, ctx: Context) -> Iterator[Path]:
        for number, rule in enumerate(self.rules):
            host = rule.host.lower() or ANY
            if not is_pattern(host) or (rule.host and host != "*" and host.endswith("*")):
                message = f"rules[{number}].host {rule.host!r} is not a host name; write it as a.example or *.example"
                ctx.problem("InvalidHostname", f"{message}. Its paths are not routed")
                continue
            for position, path in enumerate(rule.http.paths):
                field = f"rules[{number}].http.paths[{position}]"
                try:
                    match = path_match(host, path.path, path.pathType)
                except Unusable as unusable:
                    ctx.problem(unusable.reason, f"{field}: {unusable.message}; until then it is not routed")
                    continue
                yield Path(field, match, path.backend, f"{field}.backend")
        if self.defaultBackend:
            match = RouteMatch(tables=(f"|{ANY}",), path="/", authority=ANY, precedence=_LAST)
            yield Path("defaultBackend", match, self.defaultBackend, "defaultBackend")
        elif not self.rules:
            ctx.problem("NoRules", "it has neither rules nor defaultBackend (networking.k8s.io/v1); write one of them")

    # Certificates, as Hosts

    def _hosts(self, ctx: Context) -> Iterator[Fact]:
        bindings: dict[str, HostBinding] = {}
        secrets: set[str] = set()
        for number, entry in enumerate(self.tls):
            settings = TLSSettings(secret=f"{self.fq_name[0]}:{entry.secretName}" if entry.secretName else "")
            secrets.update(names(settings))
            for hostname in [host.lower() for host in entry.hosts] or [ANY]:
                if hostname in bindings or not is_pattern(hostname):
                    reason = "DuplicateHostname" if hostname in bindings else "InvalidHostname"
                    message = "is named before" if hostname in bindings else "is not a host name"
                    ctx.problem(reason, f"tls[{number}].hosts: {hostname!r} {message}; remove it")
                    continue
                bindings[hostname] = self._binding(ctx, hostname, settings)
        if bindings:
            yield Fact("host_binding", HOSTS, "")
        yield from (Fact("hostname", hostname, binding) for hostname, binding in bindings.items())
        served = dict.fromkeys(pattern for hostname in bindings for pattern in covering(hostname))
        yield from (Fact("table_served", f"|{pattern}", "") for pattern in served)
        for hostname in bindings:
            yield from wildcard_host("", hostname)
        yield from (Fact("secret_use", used, "") for used in sorted(secrets))

    def _binding(self, ctx: Context, hostname: str, settings: TLSSettings) -> HostBinding:
        tls: TLSSettings | None = settings
        try:
            if not settings.secret:
                raise Unusable("InvalidTLS", "tls has hosts, but no secretName; name a Secret with a certificate")
            check_secrets(ctx, settings)
            check_hostname(hostname)
        except Unusable as unusable:
            ctx.problem(unusable.reason, f"{unusable.message}. Until then {hostname} is not served by TLS")
            tls = None
        return HostBinding(
            name=":".join(self.fq_name),
            hostname=hostname,
            labels=tuple(f"{key}={value}" for key, value in sorted(self.metadata.labels.items())),
            # An Ingress says nothing about insecure requests: they are routed, as in all controllers.
            insecure="Route",
            wants_tls=True,
            tls=tls,
            kind=self.kind,
        )


def path_match(host: str, path: str, path_type: str) -> RouteMatch:
    """What a path of an Ingress matches. Raises ``Unusable``.

    ``Prefix`` matches whole segments (``/a`` and the paths below it, not ``/ab``), ``Exact`` the path,
    ``ImplementationSpecific`` the start of a text, as Mappings do.
    """
    sorts = {"Exact": EXACT, "Prefix": SEGMENTS, "ImplementationSpecific": PREFIX}
    if path_type not in sorts:
        raise Unusable("InvalidPath", f"pathType {path_type!r} is not one of {', '.join(sorts)}")
    text = path or ("/" if path_type == "ImplementationSpecific" else "")
    if not text.startswith("/") or not text.isprintable() or "#" in text or "?" in text:
        raise Unusable("InvalidPath", f"path {path!r} matches nothing; write it with a / at its start")
    sort = sorts[path_type]
    if sort == SEGMENTS:
        # A slash at the end has no meaning, and all paths are below the root.
        text = text.rstrip("/")
        sort, text = (SEGMENTS, text) if text else (PREFIX, "/")
    return RouteMatch(tables=(f"|{host}",), path=text, path_sort=sort, authority=host)
