"""A GatewayClass of ours, of either version, reports whether it is accepted: whether its Gateways can be made. One of
version 1 also says which releases and features are supported (docs/gateway.md §4).

A class of another controller, and its Gateways, are not touched in any way. Here is decided whether a class is ours and
valid, and which parameters its Gateways have: those that it gives, or that a Gateway names in their place (§5). The
intents of Gateways and Contours ask here, too, so that a class is accepted exactly if its Gateways may be made.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from intentc import Claim, Context, Fact, Intent, View, status

from .condition import Condition
from .contour_parameters import WITHOUT_OPERATOR, WITHOUT_PROVISIONER, Checked, Parameters, contour_parameters
from .deployment_parameters import deployment_parameters
from .settings import CONTROLLERS, host_paths, operator_namespace

OPERATOR_GROUP = "operator.projectcontour.io"
PROVISIONER_GROUP = "projectcontour.io"
EARLY_CLASS = "gateway_class_v1alpha1"
CLASS = "gateway_class"


class Class(NamedTuple):
    """A class of ours. ``fault``: why its parameters can't be used, empty if they can. ``holder``: the Contour or
    ContourDeployment that they stand in, None without one."""

    view: View
    parameters: Parameters
    fault: str = ""
    holder: View | None = None


def is_ours(view: View) -> bool:
    """Whether a class of either version names one of our controllers."""
    return (view.controller if view.kind == EARLY_CLASS else view.controllerName) in CONTROLLERS


def class_named(ctx: Context, kind: str, name: str) -> View | None:
    """The class of this version by its name, whoever controls it."""
    return ctx.find(kind, (name,)) if name else None


def read_class(ctx: Context, view: View) -> Class:
    """What a class of ours says."""
    early = view.kind == EARLY_CLASS
    reference = view.parametersRef
    if reference is None:
        return Class(view, WITHOUT_OPERATOR if early else WITHOUT_PROVISIONER)
    place = _early_place(ctx, reference) if early else parameters_place(reference, reference.namespace)
    if isinstance(place, str):
        return Class(view, Parameters(), place)
    return parameters_at(ctx, view, place)


class Place(NamedTuple):
    """Where parameters stand."""

    kind: str
    namespace: str
    name: str


def parameters_at(ctx: Context, view: View, place: Place) -> Class:
    """The parameters at a place, for Gateways of the class ``view``."""
    title = f"{'Contour' if place.kind == 'contour' else 'ContourDeployment'} {place.namespace}/{place.name}"
    holder = ctx.find(place.kind, (place.namespace, place.name))
    if holder is None:
        return Class(view, Parameters(), f"{title} does not exist")
    checked = _checked(ctx, holder, view)
    faults = f"{title} is invalid: {'; '.join(checked.faults)}" if checked.faults else ""
    return Class(view, checked.parameters, faults, holder)


def _checked(ctx: Context, holder: View, view: View) -> Checked:
    if holder.kind == "contour_deployment":
        return deployment_parameters(holder, host_paths(ctx))
    checked = contour_parameters(ctx, holder)
    named = named_class(holder)
    if named == view.name:
        return checked
    wrong = f"gatewayClassRef {named!r}" if named else "without gatewayClassRef it is an instance of its own"
    return Checked(checked.parameters, (*checked.faults, f"{wrong}; name the class {view.name} there"))


def named_class(contour: View) -> str:
    """The class that a Contour names, empty if none."""
    named = str(contour.gatewayClassRef)
    return "" if named == "None" else named


def parameters_place(reference: Any, namespace: str) -> Place | str:
    """The place that a reference of version 1 means in ``namespace``, or what is wrong with it."""
    if not namespace:
        return "parametersRef needs a namespace"
    kinds = {(OPERATOR_GROUP, "Contour"): "contour", (PROVISIONER_GROUP, "ContourDeployment"): "contour_deployment"}
    kind = kinds.get((reference.group, reference.kind))
    if kind is None:
        return f"parametersRef names a {reference.kind}.{reference.group}; name a Contour or a ContourDeployment"
    if not reference.name:
        return "parametersRef has no name"
    return Place(kind, namespace, reference.name)


def _early_place(ctx: Context, reference: Any) -> Place | str:
    if (reference.group, reference.kind) != (OPERATOR_GROUP, "Contour"):
        return f"parametersRef names a {reference.kind}.{reference.group}; name a Contour.{OPERATOR_GROUP}"
    if not reference.name:
        return "parametersRef has no name"
    if reference.scope not in ("", "Namespace"):
        return f"parametersRef.scope {reference.scope!r}; a Contour has a namespace: give Namespace"
    if reference.scope and not reference.namespace:
        return "parametersRef.scope Namespace needs a namespace"
    return Place("contour", reference.namespace or operator_namespace(ctx), reference.name)


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
