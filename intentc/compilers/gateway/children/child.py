"""One object of an instance: its manifest, its name and labels, and how it is created, changed and deleted
(docs/gateway.md §8, §8.1).
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..instance import Instance

LONGEST_LABEL = 63
"""Characters in the value of a label, in the name of a Service, and in that of a Job."""
_LONGEST_START = 40
_NOT_ALLOWED = re.compile(r"[^-a-z0-9.]+")
_LONGEST_PREFIX = "contourcert-"


class Names(NamedTuple):
    """``contour``: of Contour's Deployment, Service and ServiceAccount. ``envoy``: of Envoy's. ``certgen``: of the
    ServiceAccount and the Role of the Job that makes certificates; ``certgen_binding``: of its RoleBinding; ``job``:
    the Job itself. ``cluster_role``: of the ClusterRole and its binding. ``configuration``: of the ConfigMap, or of
    the ContourConfiguration."""

    contour: str
    envoy: str
    certgen: str
    certgen_binding: str
    job: str
    contour_certificate: str
    envoy_certificate: str
    cluster_role: str
    configuration: str


def names_of(instance: Instance) -> Names:
    is_operator = instance.layout == "operator"
    end = "" if is_operator else f"-{suffix_of(instance)}"
    return Names(
        contour=f"contour{end}",
        envoy=f"envoy{end}",
        certgen=f"contour-certgen{end}",
        certgen_binding="contour" if is_operator else f"contour-certgen{end}",
        job=label_value(f"contour-certgen-{tag_of(instance.images.contour)}{end}"),
        contour_certificate=f"contourcert{end}",
        envoy_certificate=f"envoycert{end}",
        cluster_role=f"contour-{instance.namespace}{end}",
        configuration="contour" if is_operator else f"contourconfig{end}",
    )


def suffix_of(instance: Instance) -> str:
    """What names end in (layout P): the Gateway's name, or a shorter one, if names with it could not be those of
    Services."""
    name = instance.gateway.name if instance.gateway is not None else ""
    if len(_LONGEST_PREFIX + name) <= LONGEST_LABEL and "." not in name:
        return name
    return _shortened(name.replace(".", "-"), name)


def label_value(text: str) -> str:
    """``text``, or a shorter one with a digest, if it is too long for the value of a label.

    >>> label_value("edge" * 20)
    'edgeedgeedgeedgeedgeedgeedgeedgeedgeedge-54ef562a'
    """
    return text if len(text) <= LONGEST_LABEL else _shortened(text, text)


def tag_of(image: str) -> str:
    """The tag of a container image as a part of a name; of an image with a digest the start of the digest.

    >>> tag_of("docker.io/projectcontour/contour:v1.17.0"), tag_of("registry:5000/contour")
    ('v1.17.0', 'latest')
    """
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    if not tag:
        tag = digest.partition(":")[2][:12] or "latest"
    return _NOT_ALLOWED.sub("-", tag.lower()).strip("-.") or "latest"


def _shortened(readable: str, text: str) -> str:
    return f"{readable[:_LONGEST_START]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


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


class Phase(enum.IntEnum):
    """The order of creation; objects are deleted in the reverse order (docs/gateway.md §8, §10)."""

    NAMESPACE = 1
    CLUSTER_ROLE = 2
    CLUSTER_ROLE_BINDING = 3
    SERVICE_ACCOUNT = 4
    ROLE = 5
    ROLE_BINDING = 6
    CONFIGURATION = 7
    CERTIFICATES = 8
    CONTOUR = 9
    ENVOY = 10
    CONTOUR_SERVICE = 11
    ENVOY_SERVICE = 12


class Child(NamedTuple):
    """``manifest``: Kubernetes JSON with exactly the fields that we own. The others are arguments of
    ``Intent.manifest`` (docs/engine.md §13.1): ``intent.manifest(child.manifest, **child.options)``."""

    manifest: Mapping[str, Any]
    phase: Phase
    immutable: tuple[str, ...] = ()
    once: bool = False
    kept: bool = False
    adopts: Mapping[str, str] = MappingProxyType({})
    adopted_only: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of ``Intent.manifest`` next to the manifest."""
        given = self._asdict()
        del given["manifest"]
        return {**given, "phase": int(self.phase), "adopts": dict(self.adopts)}

    @property
    def place(self) -> str:
        """``<namespace>/<name>``; the namespace of a cluster-scoped object is empty."""
        own = self.manifest["metadata"]
        return f"{own.get('namespace', '')}/{own['name']}"


Observed = Callable[[Child], Any]
"""What is known of an object: a view of its ``observed``, None before anybody has looked (docs/engine.md §13.4)."""


def metadata(instance: Instance, name: str, labels: Mapping[str, str], namespace: str = "") -> dict[str, Any]:
    """The metadata of a child, with the annotations that every child has; without ``namespace`` it is
    cluster-scoped."""
    found: dict[str, Any] = {"name": name}
    if namespace:
        found["namespace"] = namespace
    found["labels"] = dict(labels)
    if own := dict(instance.infrastructure_annotations):
        found["annotations"] = own
    return found


def namespace(instance: Instance) -> Child:
    own = metadata(instance, instance.namespace, owner_labels(instance))
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": own}
    return Child(manifest, Phase.NAMESPACE, kept=instance.keeps_namespace)
