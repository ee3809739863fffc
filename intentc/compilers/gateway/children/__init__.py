"""The objects of one instance, as manifests (docs/gateway.md §8).

A module makes the objects of one sort, or has parts that these share; ``child.py`` is the value. Pure functions of an
``Instance``, and of what was observed of its objects: no state, no I/O. ``contenders.py`` of the compiler claims them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..instance import Instance
from .child import Child, Observed, Phase, formerly_made, namespace
from .contour_pods import certificates, configuration, contour_deployment
from .envoy_pods import envoy_workloads
from .rbac import rbac
from .services import container_port, contour_service, envoy_service

__all__ = [
    "MADE_KINDS",
    "Child",
    "Observed",
    "Phase",
    "children",
    "container_port",
    "contour_deployment",
    "envoy_service",
]


MADE_KINDS = frozenset(
    {
        "apps/v1/DaemonSet",
        "apps/v1/Deployment",
        "batch/v1/Job",
        "projectcontour.io/v1alpha1/ContourConfiguration",
        "rbac.authorization.k8s.io/v1/ClusterRole",
        "rbac.authorization.k8s.io/v1/ClusterRoleBinding",
        "rbac.authorization.k8s.io/v1/Role",
        "rbac.authorization.k8s.io/v1/RoleBinding",
        "v1/ConfigMap",
        "v1/Namespace",
        "v1/Secret",
        "v1/Service",
        "v1/ServiceAccount",
    }
)
"""The kinds of all objects that instances have."""


def children(instance: Instance, observed: Observed) -> Iterator[Child]:
    """All objects of an instance that are to be claimed now, in the order of their phases. What the operator or the
    provisioner made for the same owner is taken over."""
    for child in _children(instance, observed):
        adopts = formerly_made(instance, child.manifest["metadata"]["labels"])
        yield child if child.adopted_only else child._replace(adopts=adopts)


def _children(instance: Instance, observed: Observed) -> Iterator[Child]:
    if instance.layout == "operator" and instance.makes_namespace:
        yield namespace(instance)
    yield from sorted(rbac(instance), key=lambda child: child.phase)
    yield configuration(instance)
    yield from certificates(instance, observed)
    yield contour_deployment(instance)
    yield from envoy_workloads(instance, observed)
    yield contour_service(instance)
    yield envoy_service(instance)
