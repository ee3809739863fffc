"""TLS towards an upstream: the settings of its TLSContext, the requested name, and whether its Secrets can be used.

TLS is used as requested, or not at all (docs/ambassador.md §5.7): without its TLSContext or Secret an upstream is
unreachable.

It reads through ``ctx`` alone.
"""

from __future__ import annotations

from typing import NamedTuple

from intentc import Context

from ..this_gateway import ours
from ..tls.secret_state import SecretState, secret_uses
from ..tls.tls_settings import TLSSettings, UnusableTLS, check_server_name, context_named, secret_named, tls_settings
from .service_url import address
from .upstream import Unreachable, Upstream


class Origination(NamedTuple):
    """``server_name``: the name in the handshake (SNI), empty for none."""

    settings: TLSSettings
    server_name: str


def origination(ctx: Context, upstream: Upstream, host: str) -> Origination:
    """The TLS settings for an ``upstream`` with TLS, at ``host`` (a qualified name, or an address).

    The name in the handshake is that of the context (``sni``), otherwise the rewritten host, otherwise ``host`` if it
    is a name. Raises ``Unreachable`` (``NoTLSContext``, or what is wrong with the context).
    """
    settings, context_sni = _context(ctx, upstream) if upstream.tls_context else (TLSSettings(), "")
    own = host.removesuffix(".") if address(host) is None else ""
    return Origination(settings, context_sni or upstream.sni or own)


def check_secrets(ctx: Context, settings: TLSSettings) -> None:
    """Checks that all Secrets in ``settings`` can be used. Raises ``Unreachable`` (``NoSecret``, ``InvalidSecret``)."""
    for secret, part in secret_uses(settings):
        state: SecretState | None = ctx.fact("secret_state", secret)
        if state is None:
            raise Unreachable("NoSecret", f"there is no Secret {secret}, which its TLSContext names; create it")
        if wrong := state.wrong_with(part):
            raise Unreachable("InvalidSecret", f"Secret {secret}: {wrong}")


def _context(ctx: Context, upstream: Upstream) -> tuple[TLSSettings, str]:
    """(settings, sni)"""
    name = upstream.tls_context
    try:
        found = context_named(ctx, name, upstream.namespace)
    except UnusableTLS as unusable:
        raise Unreachable(unusable.reason, unusable.message) from None
    if found is None or not ours(found, ctx):
        raise Unreachable("NoTLSContext", f"there is no TLSContext {name!r}; create it, or write tls: true")
    namespace, split = found.fq_name[0], found.secret_namespacing
    try:
        secret = secret_named(ctx, found.secret, namespace, split)
        check_server_name(found.sni, "sni")
        return tls_settings(found, ctx, namespace, secret, split), found.sni
    except UnusableTLS as unusable:
        raise Unreachable(unusable.reason, f"TLSContext {name!r}: {unusable.message}") from None
