"""The objects of one instance, as manifests: pure functions of an ``Instance`` (docs/gateway.md §8).

Each module makes the objects of one sort; ``labels``, ``names``, ``pods``, ``rules``, ``service_ports`` and
``load_balancers`` have what they share. No state, no I/O.

Touches: nothing outside memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..instance import Instance
from .certificates import certgen
from .child import Child, Phase
from .configuration import configuration
from .contour import contour_deployment
from .envoy import envoy_workload, former_envoy_workload
from .namespace import namespace
from .rbac import rbac
from .service_ports import container_port
from .services import contour_service, envoy_service

__all__ = [
    "Child",
    "Phase",
    "certgen",
    "children",
    "configuration",
    "container_port",
    "contour_deployment",
    "contour_service",
    "envoy_service",
    "envoy_workload",
    "former_envoy_workload",
    "namespace",
    "rbac",
]


def children(instance: Instance) -> Iterator[Child]:
    """All objects of an instance, in the order of their phases."""
    if instance.layout == "operator" and instance.makes_namespace:
        yield namespace(instance)
    yield from sorted(rbac(instance), key=lambda child: child.phase)
    yield configuration(instance)
    yield certgen(instance)
    yield contour_deployment(instance)
    yield envoy_workload(instance)
    yield contour_service(instance)
    yield envoy_service(instance)
