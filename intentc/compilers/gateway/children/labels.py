"""The labels and annotations by which an instance's objects name it (docs/gateway.md §8, §8.1).

Pure functions of an ``Instance``: no state, no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..instance import Instance
from .names import label_value, suffix_of

OPERATOR = "contour.operator.projectcontour.io"
_PROVISIONED = "projectcontour.io/owning-gateway-name"
"""The label of every release of the provisioner; those of the Gateway API are later."""
CONFIG_HASH = f"{OPERATOR}/config-hash"
"""The annotation by which pods of Contour restart when its ConfigMap changes."""


def owner_labels(instance: Instance) -> dict[str, str]:
    """L: the labels of every object of the instance. Nothing that users set overrides those that name the owner."""
    if instance.layout == "provisioner":
        suffix = suffix_of(instance)
        owner = {_PROVISIONED: suffix, "gateway.networking.k8s.io/gateway-name": suffix}
        return {**dict(instance.resource_labels), **dict(instance.infrastructure_labels), **owner}
    if instance.contour is None:
        return gateway_labels(instance)
    return {
        f"{OPERATOR}/owning-contour-name": label_value(instance.contour.name),
        f"{OPERATOR}/owning-contour-namespace": instance.contour.namespace,
    }


def formerly_made(instance: Instance, labels: Mapping[str, str]) -> dict[str, str]:
    """The labels, of those of an object, by which the operator's or the provisioner's object of this name is known."""
    owners = (_PROVISIONED,) if instance.layout == "provisioner" else tuple(key for key in labels if "/owning-" in key)
    return {key: labels[key] for key in owners}


def gateway_labels(instance: Instance) -> dict[str, str]:
    """The labels of layout O that name the Gateway; empty for a Contour without class."""
    if instance.gateway is None:
        return {}
    return {
        f"{OPERATOR}/owning-gateway-name": label_value(instance.gateway.name),
        f"{OPERATOR}/owning-gateway-namespace": instance.gateway.namespace,
    }


def workload_labels(instance: Instance, name: str = "contour") -> dict[str, str]:
    """W: L, and what kind of program it is. ``name``: of the application."""
    if instance.layout == "provisioner":
        program, manager = suffix_of(instance), "contour-gateway-provisioner"
    else:
        owner = instance.contour or instance.gateway
        program, manager = label_value(owner.name) if owner is not None else "", "contour-operator"
    return {
        **owner_labels(instance),
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": program,
        "app.kubernetes.io/component": "ingress-controller",
        "app.kubernetes.io/managed-by": manager,
    }


def common_annotations(instance: Instance) -> dict[str, str]:
    """The annotations of every object of the instance."""
    return dict(instance.infrastructure_annotations)
