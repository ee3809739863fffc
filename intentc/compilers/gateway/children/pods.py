"""What all containers and pods of an instance have in common (docs/gateway.md §8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ..instance import Json, Placement

Fields = dict[str, Any]

UNPRIVILEGED: Mapping[str, Any] = {"runAsUser": 65534, "runAsGroup": 65534, "runAsNonRoot": True}
"""S: the security context of pods that need no rights on their node."""
CERTIFICATES_DIRECTORY = "/certs"
XDS_PORT = 8001


def variable(name: str, path: str) -> Fields:
    """The variable ``name`` of the environment, with a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def namespace_variable() -> Fields:
    return variable("CONTOUR_NAMESPACE", "metadata.namespace")


def container(name: str, image: str, pull: str = "IfNotPresent", *, resources: Json = "", **fields: Any) -> Fields:
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": pull,
        "resources": decoded(resources, {}),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        **fields,
    }


def pod(account: str, grace_seconds: int, security: Mapping[str, Any], **fields: Any) -> Fields:
    """The spec of a pod with what every pod has. ``account``: its ServiceAccount."""
    return {
        "serviceAccountName": account,
        "securityContext": dict(security),
        "terminationGracePeriodSeconds": grace_seconds,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        **fields,
    }


def placement(given: Placement) -> Fields:
    """The fields of a pod that say on which nodes it may run."""
    fields: Fields = {}
    if given.node_selector:
        fields["nodeSelector"] = dict(given.node_selector)
    if given.tolerations:
        fields["tolerations"] = decoded(given.tolerations, [])
    return fields


def apart(app: str) -> Fields:
    """The affinity of pods that should run on different nodes."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    return {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]
        }
    }


def probe(action: Fields, *, period: int = 10, delay: int = 0) -> Fields:
    """A probe that fails at the third time. ``period``, ``delay``: seconds."""
    fields = {**action, "timeoutSeconds": 1, "periodSeconds": period, "successThreshold": 1, "failureThreshold": 3}
    return {**fields, "initialDelaySeconds": delay} if delay else fields


def http_get(path: str, port: int) -> Fields:
    return {"httpGet": {"scheme": "HTTP", "path": path, "port": port}}


def port(name: str, number: int) -> Fields:
    return {"name": name, "containerPort": number, "protocol": "TCP"}


def mount(volume: str, path: str, *, read_only: bool = False) -> Fields:
    fields = {"name": volume, "mountPath": path}
    return {**fields, "readOnly": True} if read_only else fields


def secret_volume(name: str, secret: str) -> Fields:
    """The volume ``name`` with the data of a Secret."""
    return {"name": name, "secret": {"secretName": secret, "defaultMode": 420}}


def certificate_arguments(owner: str) -> list[str]:
    """The arguments with the files of a certificate: ``owner`` is ``contour`` or ``envoy``."""
    files = {"cafile": "ca.crt", "cert-file": "tls.crt", "key-file": "tls.key"}
    return [f"--{owner}-{argument}={CERTIFICATES_DIRECTORY}/{file}" for argument, file in files.items()]


def decoded(text: Json, default: Any) -> Any:
    """The value of JSON text; ``default`` for empty text."""
    return msgspec.json.decode(text) if text else default
