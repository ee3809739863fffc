"""Resolves the references of listeners to Secrets, with the grants that other namespaces give, and says what is wrong
with a Secret (docs/gateway.md §6).

Of a Secret, messages contain its name and type.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from intentc import Context, View
from intentc.model.tls_secrets import TLS_TYPE, Misfit, certificate_sizes, content

from .gateway_listeners import CORE_GROUPS, GROUP, Certificate, Listener

_MISFITS = {
    Misfit.CERTIFICATE: "its tls.crt is no certificate in PEM",
    Misfit.KEY: "its tls.key is no private key in PEM",
    Misfit.PAIR: "its tls.key is not the certificate's",
}


def wrong_with(secret: View) -> str:
    """What is wrong with the Secret; empty if it is a certificate with its key."""
    if secret.type != TLS_TYPE:
        return f"its type is {secret.type or 'Opaque'}; give {TLS_TYPE}"
    parts = {key: content(secret, key) for key in ("tls.crt", "tls.key")}
    for key, found in parts.items():
        if not found:
            return f"it has no {key}, or one that is not base64"
    sizes = certificate_sizes(*parts.values())
    return _MISFITS[sizes] if isinstance(sizes, Misfit) else ""


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
        and any((one.group, one.kind, one.namespace) == (GROUP, "Gateway", own) for one in grant.field("from"))
        and any(one.group == "" and one.kind == "Secret" and one.name in ("", name) for one in grant.to)
        for grant in ctx.select("reference_grant", "namespace", namespace)
    )
