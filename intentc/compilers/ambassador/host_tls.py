"""Finds the TLS settings of a Host, and checks them (docs/ambassador.md §4.3).

They come from the TLSContext that the Host names, otherwise from its own ``tls``, otherwise from a TLSContext named
like it with ``-context`` at the end, otherwise from its Secret alone. Any mistake leaves the Host without TLS, with a
problem: a name that is not reachable by TLS is better than one with less protection than asked for.

``check_secrets`` and ``check_hostname`` are also for TLS of Ingresses, TCPMappings and fallback Hosts.
"""

from __future__ import annotations

from intentc import Context, View

from .routing.hostnames import ANY, aligned
from .secret_state import SecretState, secret_uses
from .this_gateway import ours
from .tls_context import TLSSettings, UnusableTLS, context_named, secret_named, tls_settings


def host_tls(host: View, ctx: Context) -> TLSSettings | None:
    """The TLS settings of ``host``, None if it asks for none. ``check_secrets`` checks the Secrets. Raises
    ``UnusableTLS``."""
    namespace = host.fq_name[0]
    secret = _secret(host, ctx)
    named = host.tlsContext.name
    if named and host.tls:
        raise UnusableTLS("InvalidTLS", "both tls and tlsContext are set; set one of them")
    if named:
        context = context_named(ctx, named, namespace)
        if context is None:
            raise UnusableTLS(
                "NoTLSContext", f"there is no TLSContext {named}; apply it, or name another in tlsContext"
            )
        return _of_context(host, context, ctx, secret)
    if host.tls:
        if not secret:
            raise UnusableTLS("InvalidTLS", "tls is set, but no certificate is; name a Secret in tlsSecret")
        return tls_settings(host.tls, ctx, namespace, secret)
    implied = ctx.find("tls_context", (namespace, f"{host.name}-context"))
    if implied is not None and ours(implied, ctx) and (secret or _lists(implied, host)):
        return _of_context(host, implied, ctx, secret)
    return TLSSettings(secret=secret) if secret else None


def check_secrets(ctx: Context, settings: TLSSettings) -> None:
    """Checks that the Secrets in ``settings`` exist and hold what is needed. Raises ``UnusableTLS``."""
    for use in secret_uses(settings):
        state: SecretState | None = ctx.fact("secret_state", use.secret)
        if state is None:
            raise UnusableTLS("NoSecret", f"there is no Secret {use.secret}; apply it, or name another")
        wrong = state.wrong_with(use.part)
        if wrong:
            raise UnusableTLS("InvalidSecret", f"Secret {use.secret}: {wrong}; fix it")


def check_hostname(hostname: str) -> None:
    """Checks that TLS clients can be distinguished by ``hostname`` (SNI). Raises ``UnusableTLS``."""
    if (hostname.endswith("*") and hostname != ANY) or not aligned(hostname):
        message = f"TLS clients can't be distinguished by {hostname!r} (SNI); use an exact name, `*.…` or `*`"
        raise UnusableTLS("Unsupported", message)


def _secret(host: View, ctx: Context) -> str:
    reference = host.tlsSecret
    if reference.name and reference.namespace:
        return f"{reference.namespace}:{reference.name}"
    return secret_named(ctx, reference.name, host.fq_name[0])


def _of_context(host: View, context: View, ctx: Context, secret: str) -> TLSSettings:
    """The settings of a TLSContext. It must match this Host's hostname or name, and its Secret, if it names one."""
    about = ":".join(context.fq_name)
    namespace, split = context.fq_name[0], context.secret_namespacing
    own = secret_named(ctx, context.secret, namespace, split)
    if own and secret and own != secret:
        message = f"TLSContext {about} has the Secret {own}, but tlsSecret says {secret}; name one Secret in both"
        raise UnusableTLS("TLSContextMismatch", message)
    if context.hosts and not _lists(context, host):
        message = f"TLSContext {about} is not for {host.hostname}; add it to its hosts, or name another in tlsContext"
        raise UnusableTLS("TLSContextMismatch", message)
    if not own and not secret:
        message = f"neither tlsSecret nor TLSContext {about} names a certificate; name a Secret in one of them"
        raise UnusableTLS("InvalidTLS", message)
    try:
        return tls_settings(context, ctx, namespace, own or secret, split)
    except UnusableTLS as unusable:
        raise UnusableTLS("InvalidTLSContext", f"TLSContext {about}: {unusable.message}") from None


def _lists(context: View, host: View) -> bool:
    return host.hostname in context.hosts or host.name in context.hosts
