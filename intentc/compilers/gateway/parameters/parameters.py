"""The parameters of an instance, checked; the defaults are those of an instance without any (docs/gateway.md §5).

A value only: no state.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..instance import ContourPods, EnvoyPods, Json, LoadBalancer, Pairs, Placement, Publishing, Resource


class Parameters(NamedTuple):
    """``contour``: the Contour that they stand in, None for others. ``namespace``: where that Contour wants its
    instance, empty: it says nothing. ``removes_namespace``: the namespace ends with the instance."""

    contour: Resource | None = None
    namespace: str = ""
    removes_namespace: bool = False
    ingress_class: str = ""
    contour_pods: ContourPods = ContourPods()
    envoy_pods: EnvoyPods = EnvoyPods()
    publishing: Publishing = Publishing()
    resource_labels: Pairs = ()
    runtime_settings: Json = ""


WITHOUT_OPERATOR = Parameters(publishing=Publishing(load_balancer=LoadBalancer()))
"""Layout O without parameters."""
WITHOUT_PROVISIONER = Parameters(publishing=Publishing(load_balancer=None))
"""Layout P without parameters."""


class Checked(NamedTuple):
    """``parameters`` as far as they can be read, and what is wrong with them: texts for people, sorted as the fields
    are; none if they are valid."""

    parameters: Parameters
    faults: tuple[str, ...] = ()


def pairs(given: Mapping[str, Any]) -> Pairs:
    """A map of texts as a value."""
    return tuple(sorted((key, value if isinstance(value, str) else str(value)) for key, value in given.items()))


def placement(given: Any) -> Placement:
    """Where pods may run."""
    return Placement(pairs(given.nodeSelector), given.tolerations.text)
