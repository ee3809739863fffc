"""The namespace of an instance (docs/gateway.md §8).

Pure functions of an ``Instance``: no state, no I/O.
"""

from __future__ import annotations

from ..instance import Instance
from .child import Child, Phase, metadata
from .labels import owner_labels


def namespace(instance: Instance) -> Child:
    """The Namespace."""
    own = metadata(instance, instance.namespace, owner_labels(instance))
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": own}
    return Child(manifest, Phase.NAMESPACE, kept=instance.keeps_namespace)
