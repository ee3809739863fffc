"""A GatewayClass of ours, of either version, reports whether it is accepted: whether its Gateways can be made. One of
version 1 also says which releases and features are supported (docs/gateway.md §4).

A class of another controller, and its Gateways, are not touched in any way. ``classes.py`` decides.
"""

from __future__ import annotations

from collections.abc import Iterable

from intentc import Claim, Context, Fact, Intent, View, status

from .classes import is_ours, read_class
from .condition import Condition

_DEFINITION = "gatewayclasses.gateway.networking.k8s.io"
_BUNDLE = "gateway.networking.k8s.io/bundle-version"
_SUPPORTED = "v1."
"""How the releases of the Gateway API begin whose resources are understood."""
_FEATURES = (
    "GRPCRoute",
    "Gateway",
    "GatewayInfrastructurePropagation",
    "GatewayPort8080",
    "GatewayStaticAddresses",
    "HTTPRoute",
    "ReferenceGrant",
    "TLSRoute",
)


class GatewayClassIntent(Intent):
    kind = "gateway_class"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if not is_ours(self):
            return
        yield _verdict(ctx, self, Condition("Accepted", True, "Accepted"))
        definition = ctx.find("custom_resource_definition", (_DEFINITION,))
        version = definition.metadata.annotations.get(_BUNDLE) if definition is not None else None
        if version is not None:
            supported = version.startswith(_SUPPORTED)
            reason = "SupportedVersion" if supported else "UnsupportedVersion"
            message = "" if supported else f"release {version} of the Gateway API; {_SUPPORTED}x is supported"
            yield Condition("SupportedVersion", supported, reason, message).of(self)
        yield status.field(self, "supportedFeatures", [{"name": name} for name in _FEATURES])


class EarlyGatewayClassIntent(Intent):
    """A class of networking.x-k8s.io/v1alpha1."""

    kind = "gateway_class_v1alpha1"

    def evaluate(self, ctx: Context) -> Iterable[Claim | Fact]:
        if is_ours(self):
            yield _verdict(ctx, self, Condition("Admitted", True, "Owned"))


def _verdict(ctx: Context, view: View, good: Condition) -> Claim:
    """Whether a class of ours can be used. ``good``: the condition of one that can."""
    fault = read_class(ctx, view).fault
    if not fault:
        return good.of(view)
    ctx.problem("InvalidParameters", fault)
    return Condition(good.type, False, "InvalidParameters", fault).of(view)
