"""Whether an Ingress is for this gateway, by its class (docs/ambassador.md §6.10).

It is if its annotation ``kubernetes.io/ingress.class`` says ``ambassador``, or if its ``ingressClassName`` names an
IngressClass of our controller. One of another class is another controller's: that is no mistake. One without a class
counts where a setting says so.
"""

from __future__ import annotations

from intentc import Context, View

from .ambassador_id import ours

CONTROLLER = "getambassador.io/ingress-controller"
OLDER_CLASS = "ambassador"
WITHOUT_CLASS = "ambassador.ingress_without_class"
"""The setting by which an Ingress that names no class is ours."""


def of_our_class(ingress: View, ctx: Context) -> bool:
    """Whether ``ingress`` is ours. Says on it why not, where that may be a mistake: without a class, or where the
    IngressClass that it probably means is not there."""
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
