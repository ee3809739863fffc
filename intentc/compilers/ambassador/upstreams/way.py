"""How an upstream is reached: by which discovery, and with which TLS; or why it can't be."""

from __future__ import annotations

from typing import NamedTuple

from intentc import Context

from ..this_gateway import Unusable, gateway_namespace
from ..tls_context import (
    SecretState,
    TLSSettings,
    check_server_name,
    context_named,
    secret_of,
    secret_uses,
    tls_settings,
)
from .resolvers import Discovery, discovery
from .service_targets import address, allowed_targets, forbidden
from .upstream import Upstream


def origination(ctx: Context, upstream: Upstream, host: str) -> tuple[TLSSettings, str]:
    """The TLS settings for an ``upstream`` with TLS, at ``host`` (a qualified name, or an address), and the name in the
    handshake (SNI), empty for none.

    That name is that of the context (``sni``), otherwise the rewritten host, otherwise ``host`` if it
    is a name. Raises ``Unusable`` (``NoTLSContext``, or what is wrong with the context).
    """
    own = upstream.sni or (host.removesuffix(".") if address(host) is None else "")
    name = upstream.tls_context
    if not name:
        return TLSSettings(), own
    found = context_named(ctx, name, upstream.namespace)
    if found is None:
        raise Unusable("NoTLSContext", f"there is no TLSContext {name!r}; create it, or write tls: true")
    try:
        check_server_name(found.sni, "sni")
        settings = tls_settings(found, ctx, found.fq_name[0], secret_of(ctx, found), found.secret_namespacing)
    except Unusable as unusable:
        raise Unusable(unusable.reason, f"TLSContext {name!r}: {unusable.message}") from None
    return settings, found.sni or own


def check_secrets(ctx: Context, settings: TLSSettings) -> None:
    """Checks that all Secrets in ``settings`` can be used. Raises ``Unusable`` (``NoSecret``, ``InvalidSecret``)."""
    for secret, part in secret_uses(settings):
        state: SecretState | None = ctx.fact("secret_state", secret)
        if state is None:
            raise Unusable("NoSecret", f"there is no Secret {secret}, which its TLSContext names; create it")
        if wrong := getattr(state, part):
            raise Unusable("InvalidSecret", f"Secret {secret}: {wrong}")


class Way(NamedTuple):
    """How an upstream is reached. ``discovery`` None: not at all. ``host``: its qualified name, or an address. ``tls``:
    None for clear text. ``server_name``: the name in the handshake (SNI), empty for none."""

    discovery: Discovery | None
    host: str
    tls: TLSSettings | None = None
    server_name: str = ""


def check_way(ctx: Context, upstream: Upstream) -> None:
    """Checks that ``upstream`` can be reached as requested, whoever answers there. Raises ``Unusable``."""
    troubles: list[Unusable] = []
    way_to(ctx, upstream, troubles)
    if troubles:
        raise troubles[0]


def way_to(ctx: Context, upstream: Upstream, troubles: list[Unusable]) -> Way:
    """The way to ``upstream``; obstacles are added to ``troubles``."""
    namespace = gateway_namespace(ctx)
    way = Way(None, upstream.dns_name(namespace))
    try:
        found = discovery(ctx, upstream)
        if found is Discovery.DNS:
            way = way._replace(host=_allowed_host(ctx, upstream, way.host, namespace))
        if upstream.tls:
            settings, server_name = origination(ctx, upstream, way.host)
            way = way._replace(tls=settings, server_name=server_name)
            check_secrets(ctx, settings)
        return way._replace(discovery=found)
    except Unusable as trouble:
        troubles.append(Unusable(trouble.reason, f"{trouble.message}. Until then requests to {way.host} get 503"))
        return way


def _allowed_host(ctx: Context, upstream: Upstream, host: str, namespace: str) -> str:
    """The name under which DNS is asked for ``upstream``. Raises ``Unusable`` if it is forbidden.

    A Service may be named ``ip6-localhost``, as the gateway's own machine is: its qualified name is safe."""
    allowed = allowed_targets(ctx)
    if not forbidden(host, allowed):
        return host
    service = upstream.service(namespace)
    if "." not in host and service is not None and ctx.find("service", service) is not None:
        qualified = f"{service[1]}.{service[0]}"
        if not forbidden(qualified, allowed):
            return qualified
    message = f"{host} is the gateway's own machine, or its cloud's metadata; name another service"
    raise Unusable("ForbiddenTarget", f"{message}, or allow it in the setting ambassador.allowed_targets")
