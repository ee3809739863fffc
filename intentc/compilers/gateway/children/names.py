"""The names of an instance's objects (docs/gateway.md §8, §8.1), but for those of the roles of layout P, which ``rbac``
has; and how names and labels are kept short.

Pure functions of values.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

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
    """The names of all objects that each instance has."""
    tag = tag_of(instance.images.contour)
    if instance.layout == "operator":
        return Names(
            contour="contour",
            envoy="envoy",
            certgen="contour-certgen",
            certgen_binding="contour",
            job=label_value(f"contour-certgen-{tag}"),
            contour_certificate="contourcert",
            envoy_certificate="envoycert",
            cluster_role=f"contour-{instance.namespace}",
            configuration="contour",
        )
    suffix = suffix_of(instance)
    return Names(
        contour=f"contour-{suffix}",
        envoy=f"envoy-{suffix}",
        certgen=f"contour-certgen-{suffix}",
        certgen_binding=f"contour-certgen-{suffix}",
        job=label_value(f"contour-certgen-{tag}-{suffix}"),
        contour_certificate=f"contourcert-{suffix}",
        envoy_certificate=f"envoycert-{suffix}",
        cluster_role=f"contour-{instance.namespace}-{suffix}",
        configuration=f"contourconfig-{suffix}",
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
