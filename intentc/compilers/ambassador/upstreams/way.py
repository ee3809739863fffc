"""Finds how an upstream is reached: by which resolver, under which name, and with which TLS; or that it can't be.

Never clear text instead of TLS (docs/ambassador.md §5.7); a forbidden name (``targets.py``) can't be reached, either.
``ambassador/cluster.py`` makes the cluster; ``check_way`` is for callers that must be sure that a service can be asked
at all.

It reads only through ``ctx``, and adds obstacles to the list that the caller passes.
"""

from __future__ import annotations

from typing import NamedTuple

from intentc import Context

from ..this_gateway import gateway_namespace
from .originating import Origination, check_secrets, origination
from .resolvers import Discovery, discovery
from .targets import allowed_targets, forbidden
from .upstream import Unreachable, Upstream


class Way(NamedTuple):
    """How an upstream is reached. ``discovery`` None: not at all. ``host``: its qualified name, or an address. ``tls``:
    None for clear text."""

    discovery: Discovery | None
    host: str
    tls: Origination | None


def check_way(ctx: Context, upstream: Upstream) -> None:
    """Checks that ``upstream`` can be reached as requested, whoever answers there. Raises ``Unreachable``."""
    troubles: list[Unreachable] = []
    way_to(ctx, upstream, troubles)
    if troubles:
        raise troubles[0]


def way_to(ctx: Context, upstream: Upstream, troubles: list[Unreachable]) -> Way:
    """The way to ``upstream``; obstacles are added to ``troubles``."""
    namespace = gateway_namespace(ctx)
    host, tls = upstream.dns_name(namespace), None
    try:
        found = discovery(ctx, upstream)
        if found is Discovery.DNS:
            host = _allowed_host(ctx, upstream, host, namespace)
        if upstream.tls:
            tls = origination(ctx, upstream, host)
            check_secrets(ctx, tls.settings)
        return Way(found, host, tls)
    except Unreachable as trouble:
        troubles.append(Unreachable(trouble.reason, f"{trouble.message}. Until then requests to {host} get 503"))
        return Way(None, host, tls)


def _allowed_host(ctx: Context, upstream: Upstream, host: str, namespace: str) -> str:
    """The name under which DNS is asked for ``upstream``. Raises ``Unreachable`` if it is forbidden.

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
    raise Unreachable("ForbiddenTarget", f"{message}, or allow it in the setting ambassador.allowed_targets")
