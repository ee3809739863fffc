"""Says how a kind's manifests look: the spelling of the kind, its resource name, whether it has a namespace, where its
fields stand, and the parts of an ``apiVersion``.

Why it exists: a kind has a name in snake_case, and fields without their place. Clients of Kubernetes need the exact
spelling (``TCPMapping``), the resource's name in URLs (``tcpmappings``), and ``spec.prefix``. ``manifest.py`` converts
manifests.

Pure functions of values.
"""

from __future__ import annotations

from .kind import Kind


def manifest_kind(kind: Kind) -> str:
    """``kind`` as manifests spell it: ``TCPMapping``."""
    return kind.manifests.kind


def resource_name(kind: Kind) -> str:
    """The kind's name in URLs: its plural in lower case, ``tcpmappings``."""
    return kind.manifests.plural


def is_namespaced(kind: Kind) -> bool:
    """Whether resources of the kind stand in a namespace."""
    return not kind.manifests.cluster_scoped


def at_top(kind: Kind) -> bool:
    """Whether the fields stand next to ``metadata`` and not in ``spec``, as a Secret's ``data``."""
    return kind.manifests.without_spec


def group_and_version(api_version: str) -> tuple[str, str]:
    """The API group of a manifest's ``apiVersion`` (empty for the core group) and the version's name."""
    group, slash, version = api_version.rpartition("/")
    return (group, version) if slash else ("", api_version)
