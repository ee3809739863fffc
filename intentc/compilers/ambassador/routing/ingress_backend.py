"""Converts the backend of an Ingress path, a Service with a port, to the action of a route.

What a Mapping can set and an Ingress can't (timeouts, retries, headers) has the Module's values.

It reads through ``ctx`` alone.
"""

from __future__ import annotations

import re
from typing import Any

from intentc import Context

from ..settings.module_settings import ModuleSettings
from ..settings.upstream_settings import HASHING
from ..upstreams.upstream import Unusable, Upstream, UpstreamRequest, upstream
from .route_action import Core, Forward, HeaderChanges, RegexRewrite, Share, Treatment
from .route_match import SEGMENTS, RouteMatch

KEEP_PATHS = "ambassador.ingress_keeps_paths"
"""The setting with which services get the path as the client sent it."""


def keeps_paths(ctx: Context) -> bool:
    try:
        return ctx.setting(KEEP_PATHS) is True
    except KeyError:
        return False


def forward(
    ctx: Context, namespace: str, backend: Any, module: ModuleSettings, cut_off: RouteMatch | None = None
) -> Forward:
    """The action for an ``IngressBackend`` in ``namespace``. Raises ``Unusable``.

    ``cut_off``: the match, if ``/`` replaces the matched part of the path, as with a Mapping's ``rewrite``.
    """
    balancer, defaults = module.load_balancer, module.defaults
    headers = HeaderChanges(
        add_request=defaults.add_request_headers,
        add_response=defaults.add_response_headers,
        remove_request=defaults.remove_request_headers,
        remove_response=defaults.remove_response_headers,
    )
    return Forward(
        Share(_upstream(ctx, namespace, backend, module), headers),
        Core(hash_on=balancer if balancer is not None and balancer.policy in HASHING else None),
        Treatment(
            prefix_rewrite="/" if cut_off is not None and cut_off.path_sort != SEGMENTS and cut_off.path != "/" else "",
            regex_rewrite=_segments_cut_off(cut_off) if cut_off is not None and cut_off.path_sort == SEGMENTS else None,
            timeout_ms=module.cluster_request_timeout_ms,
            retry_policy=module.retry_policy,
            cors=module.cors,
        ),
    )


def _segments_cut_off(match: RouteMatch) -> RegexRewrite:
    """Replaces whole segments: for ``/a`` the paths ``/a`` and ``/a/b`` become ``/`` and ``/b``; a prefix rewrite would
    leave ``//b``."""
    return RegexRewrite(f"^{re.escape(match.path)}/?", "/")


def _upstream(ctx: Context, namespace: str, backend: Any, module: ModuleSettings) -> Upstream:
    if backend.resource:
        raise Unusable("Unsupported", "a backend can't be a resource; name a Service")
    service = backend.service
    if not service.name or not (service.port.number or service.port.name):
        hint = "write service.name, and service.port.number or .name (networking.k8s.io/v1)"
        raise Unusable("InvalidBackend", f"it names no Service with a port; {hint}")
    port = service.port.number or _port_named(ctx, (namespace, service.name), service.port.name)
    request = UpstreamRequest(
        namespace=namespace, service=f"{service.name}:{port}", stats_name=module.defaults.stats_name
    )
    return upstream(request, module)


def _port_named(ctx: Context, service: tuple[str, str], name: str) -> int:
    found = ctx.find("service", service)
    if found is None:
        message = f"there is no Service {':'.join(service)}, whose port {name!r} is meant; create it"
        raise Unusable("NoService", f"{message}, or write the port's number")
    numbers: list[int] = [port.port for port in found.ports if port.name == name]
    if not numbers:
        known = ", ".join(port.name for port in found.ports if port.name) or "none"
        raise Unusable("NoPort", f"Service {':'.join(service)} has no port {name!r}; it has {known}")
    return numbers[0]
