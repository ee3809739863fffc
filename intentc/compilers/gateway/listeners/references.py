"""Resolves the references of listeners to Secrets, with the grants that other namespaces give (docs/gateway.md §6).

It reads Secrets and ReferenceGrants through ``ctx``; no state.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from intentc import Context

from .certificates import wrong_with
from .listener import CORE_GROUPS, Certificate, Listener

_GROUP = "gateway.networking.k8s.io"


class Resolution(NamedTuple):
    """``reason``: why a reference is not resolved, empty if all are; ``message``: for people."""

    reason: Literal["", "InvalidCertificateRef", "RefNotPermitted"] = ""
    message: str = ""


def resolved(ctx: Context, listener: Listener, namespace: str, *, early: bool) -> Resolution:
    """Whether all certificates of a listener can be used. ``namespace``: the Gateway's; ``early``: it is of
    v1alpha1."""
    if not listener.terminates:
        return Resolution()
    if early and not listener.certificates:
        return Resolution("InvalidCertificateRef", "tls has no certificateRef")
    for certificate in listener.certificates:
        if found := _fault(ctx, certificate, namespace, early=early):
            return found
    return Resolution()


def _fault(ctx: Context, certificate: Certificate, own: str, *, early: bool) -> Resolution | None:
    groups = CORE_GROUPS if early else ("",)
    if certificate.group not in groups or certificate.kind != "Secret":
        named = f"{certificate.kind}.{certificate.group}" if certificate.group else certificate.kind
        return Resolution("InvalidCertificateRef", f"it names a {named}; name a Secret of kind kubernetes.io/tls")
    namespace = certificate.namespace or own
    title = f"Secret {namespace}/{certificate.name}"
    if namespace != own and not _is_granted(ctx, own, namespace, certificate.name):
        return Resolution(
            "RefNotPermitted", f"{title} is in another namespace, where no ReferenceGrant permits Gateways of {own}"
        )
    secret = ctx.find("secret", (namespace, certificate.name)) if certificate.name else None
    if secret is None:
        return Resolution("InvalidCertificateRef", f"{title} does not exist")
    wrong = wrong_with(secret)
    return Resolution("InvalidCertificateRef", f"{title} can't be used: {wrong}") if wrong else None


def _is_granted(ctx: Context, own: str, namespace: str, name: str) -> bool:
    """Whether a ReferenceGrant in ``namespace`` permits Gateways of the namespace ``own`` to name its Secret."""
    return any(
        grant.fq_name[0] == namespace
        and any((one.group, one.kind, one.namespace) == (_GROUP, "Gateway", own) for one in grant.field("from"))
        and any(one.group == "" and one.kind == "Secret" and one.name in ("", name) for one in grant.to)
        for grant in ctx.select("reference_grant", "namespace", namespace)
    )
