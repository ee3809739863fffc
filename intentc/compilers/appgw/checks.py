"""Why an Ingress is left out as a whole (docs/appgw.md §9); and on which address it is, and with which rewrite set.

It reads through ``ctx``. Whether an Ingress fits is decided by ``bridges/azure/document``.
"""

from __future__ import annotations

from typing import NamedTuple

from intentc import Context, View

from .annotations import PREFIX, Annotations
from .names import CERTIFICATES, PROFILES, REWRITES, ROOTS
from .settings import PROHIBITED, Settings
from .sites import PRIVATE, PUBLIC
from .this_gateway import is_installed

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
