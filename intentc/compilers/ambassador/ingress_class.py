"""Decides by its class whether an Ingress belongs to this gateway (docs/ambassador.md §6.10).

It does if its annotation ``kubernetes.io/ingress.class`` says ``ambassador``, or if its ``ingressClassName`` names an
IngressClass of our controller. An Ingress of another class belongs to another controller; that is not a mistake. An
Ingress without a class belongs to this gateway if a setting says so.
"""

from __future__ import annotations

from intentc import Context, View

from .ambassador_id import ours

CONTROLLER = "getambassador.io/ingress-controller"
OLDER_CLASS = "ambassador"
WITHOUT_CLASS = "ambassador.ingress_without_class"
"""The setting by which an Ingress without a class is ours."""


def of_our_class(ingress: View, ctx: Context) -> bool:
    """Whether ``ingress`` is ours. If not, and that may be a mistake, it reports why: no class, or a missing
    IngressClass."""
    if ingress.older_class.lower() == OLDER_CLASS:
        return True
    name = ingress.ingressClassName
    if name:
        found = [one for one in ctx.select("ingress_class", "name", name) if one.name == name]
        if not found and name.lower() == OLDER_CLASS:
            ctx.problem(
                "NoIngressClass",
                f"there is no IngressClass {name} (networking.k8s.io/v1); apply one with controller {CONTROLLER}. "
                "Until then this Ingress has no effect",
            )
        return any(one.controller.lower() == CONTROLLER and ours(one, ctx) for one in found)
    if ingress.older_class:
        return False
    if _without_class(ctx):
        return True
    ctx.problem(
        "NoIngressClass",
        f"it names no class, so it has no effect; write ingressClassName (of an IngressClass with controller "
        f"{CONTROLLER}), or the annotation kubernetes.io/ingress.class: {OLDER_CLASS}, or set {WITHOUT_CLASS} to true",
    )
    return False


def _without_class(ctx: Context) -> bool:
    try:
        return ctx.setting(WITHOUT_CLASS) is True
    except KeyError:
        return False
