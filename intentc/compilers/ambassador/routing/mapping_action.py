"""Reads what a Mapping does with the requests that it matches, as a ``Forward`` or a ``Redirect``.

Rules: docs/ambassador.md §4.3 (Mapping, *Action*), defaults from the Module §4.2. A setting that makes no sense is left
out and reported; where requests would go elsewhere than the user said, it raises ``Unusable``, and they are not
forwarded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

from intentc import View

from ..plain import boolean, texts, typed
from ..settings.module_settings import ModuleSettings
from ..settings.traffic import Cors, HeaderAddition, LoadBalancer, RetryPolicy
from ..settings.upstream_settings import HASHING, circuit_breakers, health_checks, keepalive, load_balancer
from ..this_gateway import Unusable
from ..upstreams.service_targets import parse_service
from ..upstreams.upstream import Upstream, UpstreamRequest, tls_named, upstream
from .header_changes import RateLimits, Report, header_changes, rate_limits
from .regexes import BadRegex, check, check_substitution
from .route_action import Core, Forward, HeaderChanges, Redirect, RegexRewrite, Share, Treatment

REDIRECT_CODES = (301, 302, 303, 307, 308)
_LINKERD = "l5d-dst-override"
_PROTOCOL = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z/-]+")
T = TypeVar("T")


class MappingReader:
    """Reads what one ``mapping`` does. ``domain``: that of the RateLimitService, empty without one. ``report``:
    receives (reason, message) of problems."""

    def __init__(self, mapping: View, module: ModuleSettings, domain: str, report: Report) -> None:
        self._mapping = mapping
        self._module = module
        self._domain = domain
        self._report = report

    def action(self) -> Forward | Redirect:
        """Raises ``Unusable``."""
        return self._redirect() if self._mapping.host_redirect else self._forward()

    @property
    def stats_name(self) -> str:
        own: str | None = self._mapping.stats_name
        return self._module.defaults.stats_name if own is None else own

    # Redirects

    def _redirect(self) -> Redirect:
        mapping = self._mapping
        try:
            target = parse_service(mapping.service)
        except ValueError as error:
            raise Unusable("InvalidService", f"it names where host_redirect leads: {error}") from None
        given = [field for field in ("path_redirect", "prefix_redirect", "regex_redirect") if mapping.field(field)]
        for ignored in given[1:]:
            self._report("IgnoredField", f"{ignored} has no effect together with {given[0]}; remove one of them")
        chosen = given[0] if given else ""
        code = mapping.redirect_response_code or REDIRECT_CODES[0]
        if code not in REDIRECT_CODES:
            known = ", ".join(map(str, REDIRECT_CODES))
            self._report("InvalidRedirect", f"redirect_response_code {code} is not one of {known}; 301 is used")
            code = REDIRECT_CODES[0]
        return Redirect(
            host=f"[{target.host}]" if ":" in target.host else target.host,
            scheme=target.scheme,
            port=target.port,
            path=self._printable("path_redirect") if chosen == "path_redirect" else "",
            prefix=self._printable("prefix_redirect") if chosen == "prefix_redirect" else "",
            regex=self._regex_map("regex_redirect") if chosen == "regex_redirect" else None,
            response_code=code,
            core=self._core(None),
            cors=self._cors(),
            headers=header_changes(mapping, self._module.defaults, self._report),
        )

    # Forwarding

    def _forward(self) -> Forward:
        for field in ("path_redirect", "prefix_redirect", "regex_redirect", "redirect_response_code"):
            if self._mapping.field(field):
                self._report("IgnoredField", f"{field} has no effect without host_redirect; remove it or redirect")
        balancer = self._left_out("InvalidLoadBalancer", lambda: load_balancer(self._mapping.load_balancer), None)
        target = self._upstream(balancer)
        headers = header_changes(self._mapping, self._module.defaults, self._report)
        share = Share(target, self._with_linkerd(headers, target), self._printable("host_rewrite"))
        hashing = balancer or (None if self._wants_no_balancer() else self._module.load_balancer)
        return Forward(share, self._core(hashing), self._treatment())

    def _wants_no_balancer(self) -> bool:
        """Whether it has an empty ``load_balancer``, which overrides the Module's."""
        given = self._mapping.load_balancer
        return given is not None and not given

    def _upstream(self, balancer: LoadBalancer | None) -> Upstream:
        mapping = self._mapping
        request = UpstreamRequest(
            namespace=mapping.fq_name[0],
            service=mapping.service,
            grpc=mapping.grpc,
            tls=tls_named(mapping.tls),
            resolver=mapping.resolver,
            load_balancer=balancer,
            own_load_balancer=self._wants_no_balancer(),
            circuit_breakers=self._left_out(
                "InvalidCircuitBreaker", lambda: circuit_breakers(mapping.circuit_breakers), None
            ),
            connect_timeout_ms=mapping.connect_timeout_ms,
            cluster_idle_timeout_ms=mapping.cluster_idle_timeout_ms,
            cluster_max_connection_lifetime_ms=mapping.cluster_max_connection_lifetime_ms,
            dns_type=mapping.dns_type,
            respect_dns_ttl=mapping.respect_dns_ttl,
            enable_ipv4=self._boolean("enable_ipv4"),
            enable_ipv6=self._boolean("enable_ipv6"),
            keepalive=self._left_out("InvalidKeepalive", lambda: keepalive(mapping.keepalive), None),
            health_checks=self._left_out("InvalidHealthCheck", lambda: health_checks(mapping.health_checks), ()),
            stats_name=self.stats_name,
            cluster_tag=mapping.cluster_tag,
            marker="shadow" if mapping.shadow else "",
            host_rewrite=mapping.host_rewrite,
        )
        return upstream(request, self._module)

    def _with_linkerd(self, headers: HeaderChanges, target: Upstream) -> HeaderChanges:
        wanted = self._boolean("add_linkerd_headers")
        if not (self._module.add_linkerd_headers if wanted is None else wanted):
            return headers
        added = HeaderAddition(_LINKERD, f"{target.dns_name('')}:{target.port}", append=False)
        return msgspec.structs.replace(headers, add_request=(*headers.add_request, added))

    def _core(self, balancer: LoadBalancer | None) -> Core:
        mapping = self._mapping
        field = "auth_context_extensions"
        extensions: dict[str, str] = {}
        if mapping.auth_context_extensions:
            extensions = self._left_out(
                "InvalidAuthContext", lambda: typed(mapping.auth_context_extensions, dict[str, str]), {}, field
            )
        without = "bypass_auth" if mapping.bypass_auth else "host_redirect"
        if extensions and mapping.field(without):
            self._report("IgnoredField", f"{field} has no effect together with {without}; remove one of them")
        if mapping.rate_limit_labels and not self._domain:
            self._report("NoRateLimitService", "labels have no effect without a RateLimitService that works; make one")
        limits: RateLimits = ()
        if self._domain:
            limits = self._left_out(
                "InvalidLabels", lambda: rate_limits(mapping.rate_limit_labels, self._domain, self._module), limits
            )
        return Core(
            bypass_auth=mapping.bypass_auth,
            auth_context_extensions=tuple(sorted(extensions.items())) if not mapping.bypass_auth else (),
            rate_limits=limits,
            hash_on=balancer if balancer is not None and balancer.policy in HASHING else None,
        )

    def _treatment(self) -> Treatment:
        mapping = self._mapping
        regex = self._regex_map("regex_rewrite") if mapping.regex_rewrite else None
        if regex is not None and mapping.rewrite not in ("", "/"):
            self._report("IgnoredField", "rewrite has no effect together with regex_rewrite; remove one of them")
        auto = mapping.auto_host_rewrite
        if auto and mapping.host_rewrite:
            self._report(
                "IgnoredField", "auto_host_rewrite has no effect together with host_rewrite; remove one of them"
            )
        return Treatment(
            prefix_rewrite=self._printable("rewrite") if regex is None else "",
            regex_rewrite=regex,
            auto_host_rewrite=auto and not mapping.host_rewrite,
            timeout_ms=self._module.cluster_request_timeout_ms if mapping.timeout_ms < 0 else mapping.timeout_ms,
            idle_timeout_ms=None if mapping.idle_timeout_ms < 0 else mapping.idle_timeout_ms,
            priority="high" if mapping.priority == "high" else "",
            retry_policy=self._retry_policy(),
            cors=self._cors(),
            upgrades=self._upgrades(),
        )

    def _upgrades(self) -> tuple[str, ...]:
        """Each protocol once: Envoy rejects duplicates, whatever their case."""
        found = dict.fromkeys(("websocket",) if self._mapping.use_websocket else ())
        for protocol in self._mapping.allow_upgrade:
            if _PROTOCOL.fullmatch(protocol):
                found[protocol.lower()] = None
            else:
                self._report("InvalidUpgrade", f"allow_upgrade: {protocol!r} is not a protocol; it is left out")
        return tuple(found)

    def _retry_policy(self) -> RetryPolicy | None:
        if self._mapping.retry_policy is None:
            return self._module.retry_policy
        if not self._mapping.retry_policy:
            return None
        return self._left_out(
            "InvalidRetryPolicy", lambda: typed(self._mapping.retry_policy, RetryPolicy), None, "retry_policy"
        )

    def _cors(self) -> Cors | None:
        if self._mapping.cors is None:
            return self._module.cors
        if not self._mapping.cors:
            return None
        return self._left_out("InvalidCors", self._own_cors, None, "cors")

    def _own_cors(self) -> Cors:
        given = self._mapping.cors
        lists = {field: texts(getattr(given, field)) for field in ("origins", "methods", "headers", "exposed_headers")}
        return typed({**lists, "credentials": given.credentials, "max_age": given.max_age}, Cors)

    # Fields

    def _left_out(self, reason: str, read: Callable[[], T], otherwise: T, field: str = "") -> T:
        """The result of ``read``; if it raises ``ValueError``, ``otherwise``, and a problem on the Mapping.

        The message begins with ``field``, unless the error contains it.
        """
        try:
            return read()
        except ValueError as error:
            self._report(reason, f"{field}: {error}; it is left out" if field else f"{error}; it is left out")
            return otherwise

    def _boolean(self, field: str) -> bool | None:
        given = self._mapping.field(field)
        return self._left_out("InvalidField", lambda: boolean(given), None, field) if given else None

    def _printable(self, field: str) -> str:
        text: str = self._mapping.field(field)
        if not text.isprintable():
            raise Unusable("InvalidText", f"{field} {text!r} has characters that can't stand there")
        return text

    def _regex_map(self, field: str) -> RegexRewrite:
        given = self._mapping.field(field)
        try:
            groups = check(given.pattern, self._module.regex_max_size).groups
            check_substitution(given.substitution, groups)
        except BadRegex as error:
            raise Unusable("InvalidRegex", f"{field}: {given.pattern!r} is not usable by RE2: {error}") from None
        return RegexRewrite(given.pattern, given.substitution)
