"""Which sites the rules of an Ingress claim, with which certificates, and which protocols these need on ports
(docs/appgw.md §6.5, §6.6).

A name with an entry in ``tls`` is never served in the clear: without a usable certificate it has no site, but for the
paths of ACME challenges. ``site.py`` settles what several Ingresses claim.

It reads and reports problems through ``ctx``. State: of one Ingress, which
problems it has reported, and which paths are reserved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from intentc import Context, Fact, View

from .annotations import Annotations
from .backend_uses import ALONE
from .certificates import entry_for, wrong_with
from .checks import frontend_of
from .covered_names import covering_owner
from .ownership import Target, prohibited_targets
from .path_maps import RuleContent, challenge_paths
from .precedence import Owner
from .settings import PROHIBITED, Settings
from .sites import (
    CHALLENGE,
    HTTP,
    HTTPS,
    PLAIN_PORT,
    REDIRECT,
    SECURE_PORT,
    SERVE,
    Claim,
    Site,
    is_wildcard,
    names_of,
    without_certificate,
)


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
        challenges = tuple(one for one in challenge_paths(content) if one in paths)
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
