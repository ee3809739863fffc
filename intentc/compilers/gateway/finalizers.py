"""The finalizers that the compiler claims, so that what an instance follows from ends after it (docs/gateway.md §10).

It reads metadata of resources, and makes claims; no state.
"""

from __future__ import annotations

from collections.abc import Iterator

from intentc import FinalizerClaim, View, finalizer

CONTOUR = "contour.operator.projectcontour.io/finalizer"
GATEWAY = "contour.operator.projectcontour.io/gateway-finalizer"
EARLY_GATEWAY = "gateway.networking.x-k8s.io/finalizer"
CLASS = "gateway-exists-finalizer.gateway.networking.k8s.io"
EARLY_CLASS = "gateway-exists-finalizer.networking.x-k8s.io"
DESIGNED = "gatewayclass-exists-finalizer.operator.projectcontour.io"
"""In the operator's design only; one that is found is removed."""

OF_KIND = {
    "contour": CONTOUR,
    "gateway": GATEWAY,
    "gateway_v1alpha1": EARLY_GATEWAY,
    "gateway_class": CLASS,
    "gateway_class_v1alpha1": EARLY_CLASS,
}
"""Kind → the finalizer that we claim on it."""

ALL = frozenset({*OF_KIND.values(), DESIGNED})


def has_ours(view: View) -> bool:
    """Whether the resource has our finalizer: something was made that follows from it."""
    return OF_KIND[view.kind] in view.metadata.finalizers


def is_ending(view: View) -> bool:
    """Whether the resource is being deleted."""
    return bool(view.metadata.deletionTimestamp)


def keeping(*views: View | None) -> Iterator[FinalizerClaim]:
    """Claims that these resources stay while what follows from them exists. One that is being deleted takes no more
    finalizers, and a claim would only hold up what is made. Kinds without a finalizer of ours are left out."""
    for view in views:
        if view is not None and view.kind in OF_KIND and (not is_ending(view) or has_ours(view)):
            yield finalizer(view, OF_KIND[view.kind])
