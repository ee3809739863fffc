"""Which sites the rules of an Ingress claim, with which certificates, and which protocols these need on ports
(docs/appgw.md §6.5, §6.6); and why an Ingress is left out as a whole (§9).

A name with an entry in ``tls`` is never served in the clear: without a usable certificate it has no site, except for
the paths of ACME challenges. The intent of a site settles what several Ingresses claim, and joins other sites in a
listener (``listener_group.py``). Whether an Ingress fits is decided by ``bridges/azure/document``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from intentc import Context, Fact, Intent, View

from .annotations import PREFIX, Annotations
from .backend_uses import ALONE
from .listener_certificates import CHALLENGE_PATH, covering_owner, entry_for, wrong_with
from .path_maps import RuleContent
from .path_patterns import Target, prohibited_targets
from .settings import PROHIBITED, Settings
from .sites import (
    CHALLENGE,
    HTTP,
    HTTPS,
    PLAIN_PORT,
    PRIVATE,
    PUBLIC,
    REDIRECT,
    SECURE_PORT,
    SERVE,
    Claim,
    Site,
    is_wildcard,
    names_of,
    settled,
    without_certificate,
)
from .sub_resource_names import CERTIFICATES, PROFILES, REWRITES, ROOTS, Owner
from .sub_resources import foreign_listener, is_installed, protocol_holder

REJECTED = "Rejected"
"""The reason of an Ingress that Azure rejected."""


class LeftOut(NamedTuple):
    """``message``: for people; what to do is in it."""

    reason: str
    message: str


def frontend_of(annotations: Annotations, config: Settings) -> str:
    """Public or Private."""
    return PRIVATE if annotations.use_private_ip or config.private else PUBLIC


def left_out(ingress: View, ctx: Context, config: Settings, annotations: Annotations, digest: str) -> LeftOut | None:
    """The first reason for which the Ingress takes no part; None if there is none."""
    frontend = frontend_of(annotations, config)
    if not ctx.contributions("appgw_frontend", frontend):
        kind = frontend.lower()
        return LeftOut(f"No{frontend}IP", f"the gateway has no {kind} address; give it one, or use the other one")
    if annotations.ssl_redirect and not ingress.tls and not annotations.appgw_ssl_certificate:
        message = "ssl-redirect needs a certificate; add tls, or the annotation appgw-ssl-certificate"
        return LeftOut("RedirectWithNoTLS", message)
    named = (
        ("appgw-ssl-certificate", CERTIFICATES, (annotations.appgw_ssl_certificate,), "NoPreInstalledSslCertificate"),
        ("appgw-ssl-profile", PROFILES, (annotations.appgw_ssl_profile,), "NoPreInstalledSslProfile"),
        (
            "appgw-trusted-root-certificate",
            ROOTS,
            annotations.appgw_trusted_root_certificate,
            "NoPreInstalledRootCertificate",
        ),
    )
    for annotation, collection, names, reason in named:
        for name in filter(None, names):
            if not is_installed(ctx, collection, name):
                return LeftOut(reason, f"{PREFIX}{annotation}: the gateway has no {name!r}; install it first")
    if missing := _missing_rewrite(ingress, ctx, annotations):
        return LeftOut("RewriteRuleSetNotFound", missing)
    if config.ownership == PROHIBITED and not ctx.all("azure_ingress_prohibited_target"):
        message = "the gateway is shared, and no AzureIngressProhibitedTarget says what others have; apply one"
        return LeftOut("NoProhibitedTargets", message)
    rejection = ctx.find("appgw_rejection", ingress.fq_name)
    if rejection is not None and rejection.digest == digest:
        return LeftOut(REJECTED, f"Azure rejects it: {rejection.message}; change it, or what it names")
    return None


def rewrite_of(ingress: View, annotations: Annotations) -> str:
    """The rewrite set of an Ingress: a name on the gateway, ``namespace|name`` of a resource, or empty."""
    own, resource = annotations.rewrite_rule_set, annotations.rewrite_rule_set_custom_resource
    if own and resource:
        return ""
    return f"{ingress.fq_name[0]}|{resource}" if resource else own


def _missing_rewrite(ingress: View, ctx: Context, annotations: Annotations) -> str:
    wanted = rewrite_of(ingress, annotations)
    namespace, is_resource, name = wanted.partition("|")
    if is_resource:
        if ctx.find("azure_application_gateway_rewrite", (namespace, name)) is None:
            return f"there is no AzureApplicationGatewayRewrite {namespace}:{name}; apply it, or remove the annotation"
    elif wanted and not is_installed(ctx, REWRITES, wanted):
        return f"the gateway has no rewrite set {wanted!r}; make it first, or remove the annotation"
    return ""


class _Cover(NamedTuple):
    """``certificate``: that of a name, as ``sites.Claim`` has it, empty if there is none; ``is_closed``: whether it
    must not be served without."""

    certificate: str
    is_closed: bool


class SiteClaims:
    """The claims of one Ingress."""

    def __init__(self, ingress: View, ctx: Context, config: Settings, annotations: Annotations, owner: Owner) -> None:
        self._ingress, self._ctx, self._annotations, self._owner = ingress, ctx, annotations, owner
        self._frontend = frontend_of(annotations, config)
        self._targets: tuple[Target, ...] = prohibited_targets(ctx) if config.ownership == PROHIBITED else ()
        self._has_claims = False
        self._kept_paths: set[tuple[int, int]] = set()
        self._left_out: set[tuple[int, int]] = set()
        self._reported: set[tuple[str, str]] = set()

    @property
    def reserved(self) -> frozenset[tuple[int, int]]:
        """The paths, as (rule, position), that others have reserved under each name of their rule; with them the
        default backend, ``(ALONE, 0)``, if no rule is left that it could serve. Complete once ``of`` has ended."""
        found = self._left_out - self._kept_paths
        return frozenset(found | {(ALONE, 0)} if found and not self._has_claims else found)

    def of(self, contents: Iterable[tuple[int, str, RuleContent]]) -> Iterator[Fact]:
        """The claims of the rules, the rules themselves, and the protocols that they need on ports."""
        protocols: set[str] = set()
        found: dict[str, list[Claim]] = {}
        for number, host, content in contents:
            names, invalid = names_of(host, self._annotations.hostname_extension)
            for name in invalid:
                self._report("HostInvalid", f"{name!r} is not a host name that the gateway takes; it is left out")
            yield Fact("appgw_rule_content", f"{self._owner.namespace}|{self._owner.name}|{number}", content)
            for position, name in enumerate(names or (() if invalid else ("",))):
                for site, claim in self._claims(number, host.lower(), position, name, content):
                    self._has_claims = True
                    found.setdefault(site.key, []).append(claim)
                    if not self._is_closed(site, claim):
                        protocols.add(f"{site.frontend}|{site.port}|{site.protocol}")
        yield from (Fact("appgw_site", site, tuple(claims)) for site, claims in found.items())
        yield from (Fact("appgw_port_protocol", one, self._owner) for one in sorted(protocols))

    def _claims(
        self, number: int, host: str, position: int, name: str, content: RuleContent
    ) -> Iterator[tuple[Site, Claim]]:
        paths = self._kept(number, name, content)
        if self._targets and content.paths and not paths:
            return
        given = self._annotations
        cover = self._cover(name, host)
        redirects = given.ssl_redirect
        if redirects and cover.certificate and is_wildcard(name):
            self._report("RedirectWildcardHost", f"{name} can't be redirected, since it has a wildcard: HTTPS only")
            redirects = False
        secure = given.override_frontend_port or SECURE_PORT
        plain = given.override_frontend_port or PLAIN_PORT
        solving = (path.position for path in content.paths if path.written.startswith(CHALLENGE_PATH))
        challenges = tuple(one for one in solving if one in paths)
        catches_all = any(path.catch_all for path in content.paths if path.position in paths)
        common: dict[str, Any] = {
            "policy": given.waf_policy_for_path if catches_all else "",
            "priority": given.rule_priority,
        }
        if cover.certificate:
            claim = Claim(
                *(self._owner, number, SERVE, paths, position, cover.certificate, given.appgw_ssl_profile),
                is_target=redirects,
                **common,
            )
            yield Site(self._frontend, secure, HTTPS, name), claim
            if redirects:
                claim = Claim(self._owner, number, REDIRECT, paths, position, target=secure, **common)
                yield Site(self._frontend, PLAIN_PORT, HTTP, name), claim
        elif cover.is_closed:
            if challenges:
                claim = Claim(self._owner, number, CHALLENGE, challenges, position, priority=given.rule_priority)
                yield Site(self._frontend, PLAIN_PORT, HTTP, name), claim
        elif given.ssl_redirect:
            message = (
                f"{name or 'a rule without host'} has no certificate to which ssl-redirect could lead; add it to tls"
            )
            self._report("RedirectWithNoTLS", f"{message}. Until then it is not served")
        else:
            claim = Claim(self._owner, number, SERVE, paths, position, challenges=challenges, **common)
            yield Site(self._frontend, plain, HTTP, name), claim

    def _is_closed(self, site: Site, claim: Claim) -> bool:
        """Whether nothing of a claim is served, since another Ingress has the name in ``tls``. The site reports it."""
        if site.protocol != HTTP or claim.mode != SERVE or without_certificate(site, claim) is not None:
            return False
        return covering_owner(self._ctx, site.name) is not None

    def _kept(self, number: int, name: str, content: RuleContent) -> tuple[int, ...]:
        """The positions of the paths of the rule ``number`` that nobody has reserved."""
        kept = []
        for path in content.paths:
            patterns = ("/*",) if path.catch_all else path.patterns
            if any(target.covers(name, patterns) for target in self._targets):
                shown = f"{name or 'all names'}{path.written or '/'}"
                self._report("ProhibitedTarget", f"{shown} is inside an AzureIngressProhibitedTarget; it is left out")
                self._left_out.add((number, path.position))
            else:
                kept.append(path.position)
                self._kept_paths.add((number, path.position))
        return tuple(kept)

    def _cover(self, name: str, host: str) -> _Cover:
        installed = self._annotations.appgw_ssl_certificate
        entry = entry_for(self._ingress.tls, name)
        if entry is None and host and name != host:
            entry = entry_for(self._ingress.tls, host)
        if entry is None:
            return _Cover(f"installed|{installed}" if installed else "", False)
        namespace = self._ingress.fq_name[0]
        secret = self._ctx.find("secret", (namespace, entry.secretName)) if entry.secretName else None
        wrong = wrong_with(namespace, entry.secretName, secret)
        if wrong is None:
            return _Cover(f"secret|{namespace}|{entry.secretName}", True)
        meanwhile = f"{installed} serves" if installed else "the names that it covers are not served"
        self._report(wrong.reason, f"{wrong.message}. Until then {meanwhile}")
        return _Cover(f"installed|{installed}" if installed else "", True)

    def _report(self, reason: str, message: str) -> None:
        if (reason, message) not in self._reported:
            self._reported.add((reason, message))
            self._ctx.problem(reason, message)


class SiteIntent(Intent):
    """Claims that can't be met are left out. A name that any Ingress has in ``tls`` is served in the clear to nobody
    but solvers of ACME challenges."""

    kind = "appgw_site"

    def evaluate(self, ctx: Context) -> Iterable[Fact]:
        site = Site.of(self.uuid)
        claims: list[Claim] = sorted(claim for _, found in ctx.contributions(self.kind, self.uuid) for claim in found)
        # A closed site is not there: it contends for no port.
        claims = list(self._closed(ctx, site, claims))
        claims = [claim for claim in claims if self._is_possible(ctx, site, claim)]
        if not claims:
            return
        share, conflicts = settled(site, claims)
        for loser, reason, winner in conflicts:
            message = f"{_shown(site)}: Ingress {winner.owner.shown} has another one, which counts"
            ctx.problem_on("ingress", loser.owner.shown, reason, message)
        yield Fact("appgw_listener_group", share.group, share)

    def _closed(self, ctx: Context, site: Site, claims: list[Claim]) -> Iterator[Claim]:
        """The claims without what must not be served in the clear; reports what is left out (docs/appgw.md §6.5)."""
        covering = covering_owner(ctx, site.name) if site.protocol == HTTP else None
        for claim in claims:
            if covering is None or claim.mode != SERVE:
                yield claim
                continue
            left = without_certificate(site, claim)
            if left is None or set(claim.paths) != set(left.paths):
                message = (
                    f"{_shown(site)} is not served, since Ingress {covering.shown} has the name in tls; add it to tls"
                    " here, too, or remove it there"
                )
                ctx.problem_on("ingress", claim.owner.shown, "CoveredByTLS", message)
            if left is not None:
                yield left

    def _is_possible(self, ctx: Context, site: Site, claim: Claim) -> bool:
        """Whether a claim can be met; reports why it can't."""
        if foreign := foreign_listener(ctx, site):
            message = (
                f"{_shown(site)} is the gateway's listener {foreign}'s, which others made; use another name or port"
            )
            ctx.problem_on("ingress", claim.owner.shown, "ForeignListener", message)
            return False
        if holder := protocol_holder(ctx, site):
            message = f"{_shown(site)}: Ingress {holder.shown} uses another protocol on this port; use another port"
            ctx.problem_on("ingress", claim.owner.shown, "PortProtocolConflict", message)
            return False
        if claim.mode != REDIRECT:
            return True
        # Without its target a redirect has no effect, and its paths must not be served in the clear.
        target = msgspec.structs.replace(site, port=claim.target, protocol=HTTPS)
        return not foreign_listener(ctx, target) and protocol_holder(ctx, target) is None


def _shown(site: Site) -> str:
    return f"{site.name or 'all names'} on {site.frontend.lower()} port {site.port} ({site.protocol})"
