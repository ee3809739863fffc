"""What AuthService, RateLimitService, TracingService and LogService share: how their upstream is read and asked for.

``takes_effect`` says which of several RateLimitServices or TracingServices counts; AuthServices decide that in
``auth_service.py``. ``service_target`` is for the probes of the Module.
"""

from __future__ import annotations

from typing import Any

from intentc import Context, Fact, Intent, View

from .elements import origin
from .plain import plain
from .settings.module_settings import ModuleSettings, module_settings
from .settings.upstream_settings import circuit_breakers
from .this_gateway import in_order
from .upstreams.upstream import ClusterUse, Unusable, Upstream, UpstreamRequest, upstream


def takes_effect(service: Intent, ctx: Context, called: str) -> bool:
    """Whether ``service`` is the one of its kind that takes effect (``in_order``); reports a problem on the others.

    ``called``: the kind as users write it.
    """
    first = next(in_order(service.kind, ctx))
    if first.key == service.key:
        return True
    ctx.problem(
        f"Second{called}",
        f"the {called} {':'.join(first.fq_name)} takes effect, as the gateway's own or the first by name, and this one "
        "has no effect; delete one of the two",
    )
    return False


def service_upstream(
    service: View, ctx: Context, field: str, *, grpc: bool, marker: str, tls: Any = None, breakers: Any = None
) -> Upstream:
    """The upstream that ``field`` names. ``tls``: the value of the field ``tls``, ``breakers`` of ``circuit_breakers``,
    where the kind has them. Raises ``Unusable``."""
    try:
        limits = circuit_breakers(breakers)
    except ValueError as error:
        raise Unusable("InvalidSetting", f"circuit_breakers: {error}") from None
    return upstream(
        UpstreamRequest(
            namespace=service.fq_name[0],
            service=service.field(field),
            grpc=grpc,
            tls=_tls(tls),
            circuit_breakers=limits,
            stats_name=service.stats_name,
            marker=marker,
        ),
        module_settings(ctx),
    )


def service_target(resource: View, service: str, module: ModuleSettings) -> Upstream:
    """The upstream of a ``service`` without further settings. Raises ``Unusable``."""
    return upstream(UpstreamRequest(namespace=resource.fq_name[0], service=service), module)


def cluster_use(service: View, field: str, used: Upstream) -> Fact:
    """The fact that ``field`` of ``service`` uses the cluster."""
    return Fact("cluster", used.name, ClusterUse(used, (origin(service, field),)))


def _tls(value: Any) -> str:
    given = plain(value)
    if given is None or isinstance(given, bool):
        return "" if given is None else str(given).lower()
    if not isinstance(given, str):
        raise Unusable("InvalidTLS", f"tls {given!r}: the name of a TLSContext, or (v2) true or false is expected")
    return given
