"""Finds out whether a class of Gateways is ours and valid, and which parameters its Gateways have: those that it gives,
or that a Gateway names in their place (docs/gateway.md §4, §5).

The intents of classes, Gateways and Contours ask here, so that a class is admitted exactly if its Gateways may be made.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from intentc import Context, View

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
    place = _early_place(ctx, reference) if early else _place(reference)
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
    kinds = {(OPERATOR_GROUP, "Contour"): "contour", (PROVISIONER_GROUP, "ContourDeployment"): "contour_deployment"}
    kind = kinds.get((reference.group, reference.kind))
    if kind is None:
        return f"parametersRef names a {reference.kind}.{reference.group}; name a Contour or a ContourDeployment"
    if not reference.name:
        return "parametersRef has no name"
    return Place(kind, namespace, reference.name)


def _place(reference: Any) -> Place | str:
    if not reference.namespace:
        return "parametersRef needs a namespace"
    return parameters_place(reference, reference.namespace)


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
