"""Says how a kind's manifests look: the spelling of the kind, its resource name, and where its fields stand.

Why it exists: a schema file names a kind in snake_case and its fields without their place. Clients of Kubernetes need
the exact spelling (``TCPMapping``), the resource's name in URLs (``tcpmappings``), and ``spec.prefix``.

Pure functions of values: no state, no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping

from .kind import Kind

_WORDS = {"tcp": "TCP", "tls": "TLS", "dns": "DNS"}
_AT_TOP: Mapping[str, frozenset[str]] = {
    "secret": frozenset({"type", "data", "stringData", "immutable"}),
    "config_map": frozenset({"data", "binaryData", "immutable"}),
    "endpoints": frozenset({"subsets"}),
    "endpoint_slice": frozenset({"addressType", "endpoints", "ports"}),
}


def manifest_kind(kind: Kind) -> str:
    """``kind`` as manifests spell it: ``TCPMapping``."""
    return "".join(_WORDS.get(word, word[:1].upper() + word[1:]) for word in kind.name.split("_"))


def resource_name(kind: Kind) -> str:
    """The kind's name in URLs: its plural in lower case, ``tcpmappings``."""
    return kind.plural.replace("_", "")


def is_namespaced(kind: Kind) -> bool:
    """Whether resources of the kind stand in a namespace."""
    return True


def at_top(kind: Kind, field: str) -> bool:
    """Whether a field stands next to ``metadata`` and not in ``spec``, as a Secret's ``data``."""
    return field in _AT_TOP.get(kind.name, ())


def group_and_version(api_version: str) -> tuple[str, str]:
    """The API group of a manifest's ``apiVersion`` (empty for the core group) and the version's name."""
    group, slash, version = api_version.rpartition("/")
    return (group, version) if slash else ("", api_version)
