"""An Ingress claims sites of the gateway and asks for backends, to which its rules go as facts; its status has the
addresses that the publisher recorded.

``path_patterns.py`` decides whether it belongs to this gateway, ``site_claims.py`` whether it can have its part. What
is wrong with it by itself, and what only the whole document shows, is reported here; who of several Ingresses counts is
decided, and reported, by the intents of sites and listeners, and what is wrong behind it by those of backends.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from intentc import Claim, Context, Fact, Intent, status

from .annotations import Annotations, read_annotations
from .backend_uses import backend_uses, rule_contents
from .listener_certificates import covered_names, digest
from .path_patterns import is_served
from .settings import Settings
from .site_claims import REJECTED, SiteClaims, frontend_of, left_out, rewrite_of
from .sub_resource_names import Owner
from .sub_resources import this_gateway


class IngressIntent(Intent):
    kind = "ingress"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        config = this_gateway(ctx).config
        if not is_served(self, ctx, config) or not (self.rules or self.defaultBackend):
            return
        given = dict(self.metadata.annotations)
        annotations, mistakes = read_annotations(given)
        for mistake in mistakes:
            ctx.problem(*mistake)
        owner = Owner(self.metadata.creationTimestamp, *self.fq_name)
        if annotations.waf_policy_for_path:
            yield Fact("appgw_default_policy", "all", (owner, annotations.waf_policy_for_path))
        yield from covered_names(self, annotations, owner)
        if self.rules and not any(rule.http.paths for rule in self.rules):
            ctx.problem("NoHTTPRules", "none of its rules has http paths, so it is ignored; write some")
            return
        said = self._digest(ctx, given, annotations)
        is_private = frontend_of(annotations, config) == "Private"
        itself = {"created": owner.created, "digest": said, "private": is_private}
        if reason := left_out(self, ctx, config, annotations, said):
            ctx.problem(reason.reason, f"{reason.message}. Until then it has no part in the gateway")
            if reason.reason == REJECTED:
                # What is behind it stays compiled: the publisher tries again when that changes.
                yield from (Fact("appgw_backend", use.key, use) for use in backend_uses(self, ctx, annotations, owner))
                yield self.owned("appgw_owner", self.fq_name, **itself, rejected=True)
            return
        yield from self._parts(ctx, config, annotations, owner)
        if (found := ctx.find("appgw_document_problem", self.fq_name)) is not None:
            for one in found.problems:
                ctx.problem(one.reason, one.message)
        yield self.owned("appgw_owner", self.fq_name, **itself)
        published = ctx.find("appgw_publication", self.fq_name)
        if published is not None:
            addresses = [{"ip": one.ip, "hostname": one.hostname} for one in published.addresses]
            yield status.field(self, "loadBalancer.ingress", addresses)

    def _parts(self, ctx: Context, config: Settings, annotations: Annotations, owner: Owner) -> Iterator[Claim | Fact]:
        if annotations.rewrite_rule_set and annotations.rewrite_rule_set_custom_resource:
            message = "rewrite-rule-set and rewrite-rule-set-custom-resource exclude each other; none is used"
            ctx.problem("RewriteConflict", f"{message}. Remove one of them")
        rewrite = rewrite_of(self, annotations)
        if "|" in rewrite:
            yield Fact("appgw_rewrite_use", rewrite, owner)
        claims = SiteClaims(self, ctx, config, annotations, owner)
        yield from claims.of(rule_contents(self, ctx, config, annotations, rewrite))
        for use in backend_uses(self, ctx, annotations, owner, claims.reserved):
            yield Fact("appgw_backend", use.key, use)

    def _digest(self, ctx: Context, given: dict[str, str], annotations: Annotations) -> str:
        """A hash of all that the Ingress says, and its Secrets and rewrite set (32 hexadecimal digits)."""
        said = (sorted(given.items()), self.ingressClassName, self.defaultBackend, self.rules, self.tls)
        found = hashlib.sha256(repr(said).encode())
        for name in sorted({entry.secretName for entry in self.tls if entry.secretName}):
            secret = ctx.find("secret", (self.fq_name[0], name))
            found.update(digest(secret).encode() if secret is not None else b"-")
        namespace, is_resource, name = rewrite_of(self, annotations).partition("|")
        if is_resource and (rewrite := ctx.find("azure_application_gateway_rewrite", (namespace, name))) is not None:
            found.update(repr(rewrite.rewriteRules).encode())
        return found.hexdigest()[:32]
