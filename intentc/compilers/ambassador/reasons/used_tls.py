"""Finds the TLSContexts and Secrets that TLS depends on, in addition to the resource that asks for it."""

from __future__ import annotations

from intentc import Context, Source, View
from intentc.model.hostname_patterns import covering

from ..envoy_elements import Sources
from ..host_binding import HostBinding, hosts_named
from ..this_gateway import Unusable, ours
from ..tls_context import TLSSettings, context_named, context_settings, secret_of, secret_uses
from ..upstreams.upstream import Upstream


def secrets(settings: TLSSettings) -> Sources:
    return tuple(Source("secret", use.secret) for use in secret_uses(settings))


def of_host(ctx: Context, binding: HostBinding) -> Sources:
    """What the TLS of a Host needs in addition to the Host; nothing if it can't be used."""
    context = context_of(ctx, binding.name) if binding.kind == "host" and binding.name else ()
    return (*context, *secrets(binding.tls)) if binding.tls is not None else ()


def context_of(ctx: Context, name: str) -> Sources:
    """The TLSContext without which the Host ``name`` (namespace:name) would have no TLS."""
    namespace, _, own = name.partition(":")
    host = ctx.find("host", (namespace, own))
    if host is None:
        return ()
    found: View | None = None
    if host.tlsContext.name:
        try:
            found = context_named(ctx, host.tlsContext.name, namespace)
        except Unusable:
            return ()
    elif not host.tls and not host.tlsSecret.name:
        found = ctx.find("tls_context", (namespace, f"{own}-context"))
    return (Source.of(found),) if found is not None else ()


def of_connections(ctx: Context, host: str) -> list[tuple[TLSSettings | None, Sources]]:
    """What may terminate TLS for connections that request ``host``: (settings, the sources that they need).

    Each Host that covers ``host`` and each TLSContext that lists it could. Without ``host`` there is no TLS, and
    nothing is needed.
    """
    if not host:
        return [(None, ())]
    found: list[tuple[TLSSettings | None, Sources]] = []
    for pattern in covering(host):
        found += [
            (binding.tls, (Source(binding.kind, binding.name), *of_host(ctx, binding)))
            for binding in hosts_named(ctx, pattern)
            if binding.name and binding.tls is not None
        ]
    for context in ctx.select("tls_context", "hosts", host):
        if ours(context, ctx):
            settings = settings_of(ctx, context)
            if settings is not None and settings.secret:
                found.append((settings, (Source.of(context), *secrets(settings))))
    return found


def contexts(ctx: Context, upstream: Upstream) -> list[tuple[TLSSettings, Sources]]:
    """The TLSContexts that an upstream may mean by its name for one; (settings, the sources that they need)."""
    first, dot, other = upstream.tls_context.rpartition(".")
    named = [view for view in ctx.select("tls_context", "name", upstream.tls_context) if ours(view, ctx)]
    qualified = ctx.find("tls_context", (other, first)) if dot else None
    if qualified is not None and ours(qualified, ctx):
        named.append(qualified)
    found = ((view, settings_of(ctx, view)) for view in named)
    return [(settings, (Source.of(view), *secrets(settings))) for view, settings in found if settings is not None]


def settings_of(ctx: Context, context: View) -> TLSSettings | None:
    """The settings of a TLSContext; None if they can't be used."""
    try:
        return context_settings(ctx, context, secret_of(ctx, context))
    except Unusable:
        return None
