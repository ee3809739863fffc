"""One object of an instance: its manifest, and how it is created, changed and deleted.

Values only: no state, no I/O.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..instance import Instance
from .labels import common_annotations


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
    if own := common_annotations(instance):
        found["annotations"] = own
    return found
