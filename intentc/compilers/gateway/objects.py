"""Claims the objects of an instance in the cluster (docs/gateway.md §8); ``children`` says what they are.

It reads what was observed through ``ctx``; no state.
"""

from __future__ import annotations

from intentc import Context, Intent, ResourceClaim, View

from .children import Child, children
from .instance import Instance, Layout, Resource
from .settings import images

Object = tuple[Child, ResourceClaim]


def objects_of(intent: Intent, ctx: Context, instance: Instance) -> tuple[Object, ...]:
    """The objects of an instance, in the order of their phases, and the claims of ``intent`` that they exist."""

    def observed(child: Child) -> View | None:
        return ctx.observed(_claim_of(intent, child))

    return tuple((child, _claim_of(intent, child)) for child in children(instance, observed))


def objects_of_any(
    intent: Intent, ctx: Context, layout: Layout, namespace: str, gateway: Resource | None = None
) -> tuple[Object, ...]:
    """The objects that the instance of a namespace, or of a Gateway, has whatever it is configured to be."""
    contour = None if gateway is not None else Resource(namespace, "any")
    instance = Instance(
        layout=layout, namespace=namespace, images=images(ctx, layout), contour=contour, gateway=gateway
    )
    return objects_of(intent, ctx, instance)


def _claim_of(intent: Intent, child: Child) -> ResourceClaim:
    return intent.manifest(child.manifest, **child.options)
