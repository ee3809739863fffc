"""What Contour reads at its start: a ConfigMap in layout O, a ContourConfiguration in layout P (docs/gateway.md §8).

Pure functions of an ``Instance``.
"""

from __future__ import annotations

import hashlib

import msgspec

from ..instance import Instance
from .child import Child, Phase, metadata
from .labels import gateway_labels, owner_labels
from .names import names_of
from .pods import decoded

FILE = "contour.yaml"


def configuration(instance: Instance) -> Child:
    """The ConfigMap, or the ContourConfiguration."""
    return _config_map(instance) if instance.layout == "operator" else _contour_configuration(instance)


def config_hash(instance: Instance) -> str:
    """16 hexadecimal digits that change with the ConfigMap's file."""
    return hashlib.sha256(_file(instance).encode()).hexdigest()[:16]


def _config_map(instance: Instance) -> Child:
    labels = gateway_labels(instance) or owner_labels(instance)
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(instance, names_of(instance).configuration, labels, instance.namespace),
        "data": {FILE: _file(instance)},
    }
    return Child(manifest, Phase.CONFIGURATION)


def _file(instance: Instance) -> str:
    """The file as YAML. Names are quoted: a Gateway may be called ``true``."""
    lines = []
    if instance.gateway is not None:
        lines += ["gateway:", f"  name: {_quoted(instance.gateway.name)}"]
        lines += [f"  namespace: {_quoted(instance.gateway.namespace)}"]
    lines += ["disablePermitInsecure: false", "tls:", "  fallback-certificate: null"]
    lines += ["  envoy-client-certificate: null", "accesslog-format: envoy"]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _contour_configuration(instance: Instance) -> Child:
    names = names_of(instance)
    spec = decoded(instance.runtime_settings, {})
    gateway = {} if instance.gateway is None else msgspec.to_builtins(instance.gateway)
    service = {"namespace": instance.namespace, "name": names.envoy}
    manifest = {
        "apiVersion": "projectcontour.io/v1alpha1",
        "kind": "ContourConfiguration",
        "metadata": metadata(instance, names.configuration, owner_labels(instance), instance.namespace),
        "spec": {
            **spec,
            "gateway": {**(spec.get("gateway") or {}), "gatewayRef": gateway},
            "envoy": {**(spec.get("envoy") or {}), "service": service},
        },
    }
    return Child(manifest, Phase.CONFIGURATION)
