"""How lists in manifests are merged: by a key of their elements, as sets, or (all others) replaced whole.

Why it exists: strategic merge patches and server-side apply both need it, and a schema file does not say it. These are
the lists of Kubernetes' own kinds that kinds of intentc have, and conditions.

Tables and functions over them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec


class ListForm(NamedTuple):
    """``keys``: the fields that identify an element; empty: a set of plain values. ``patch_key``: the one by which
    strategic merge patches name an element. ``defaults``: of keys that are not given."""

    keys: tuple[str, ...] = ()
    patch_key: str = ""
    defaults: Mapping[str, Any] = {}


SET = ListForm()
_NAMED = ListForm(("name",), "name")
_CONTAINER_PORTS = ListForm(("containerPort", "protocol"), "containerPort", {"protocol": "TCP"})

_EVERYWHERE: Mapping[tuple[str, ...], ListForm] = {
    ("metadata", "finalizers"): SET,
    ("metadata", "ownerReferences"): ListForm(("uid",), "uid"),
}
_BUILT_IN: Mapping[tuple[str, ...], ListForm] = {
    ("status", "conditions"): ListForm(("type",), "type"),
    ("spec", "ports"): ListForm(("port", "protocol"), "port", {"protocol": "TCP"}),
}
_IN_PODS: Mapping[tuple[str, ...], ListForm] = {
    ("containers",): _NAMED,
    ("initContainers",): _NAMED,
    ("volumes",): _NAMED,
    ("imagePullSecrets",): _NAMED,
    ("containers", "[]", "env"): _NAMED,
    ("initContainers", "[]", "env"): _NAMED,
    ("containers", "[]", "ports"): _CONTAINER_PORTS,
    ("initContainers", "[]", "ports"): _CONTAINER_PORTS,
    ("containers", "[]", "volumeMounts"): ListForm(("mountPath",), "mountPath"),
    ("initContainers", "[]", "volumeMounts"): ListForm(("mountPath",), "mountPath"),
}
"""A list's path (``[]``: an element) in a manifest, or in the spec of a pod → its form."""

_POD_SPECS = (("spec",), ("spec", "template", "spec"), ("spec", "jobTemplate", "spec", "template", "spec"))

Forms = Callable[[tuple[str, ...]], ListForm | None]
"""The path of a list → how it is merged; None: it is replaced whole."""


def built_in(names: tuple[str, ...]) -> ListForm | None:
    """``Forms`` of the kinds that kubectl knows by itself."""
    for place in _POD_SPECS:
        if names[: len(place)] == place and names[len(place) :] in _IN_PODS:
            return _IN_PODS[names[len(place) :]]
    return _BUILT_IN.get(names) or custom(names)


def custom(names: tuple[str, ...]) -> ListForm | None:
    """``Forms`` of all other kinds: only ``metadata`` has lists that are merged."""
    return _EVERYWHERE.get(names)


def comparable(value: Any) -> Any:
    """A plain value as a key of an index: equal for equal values."""
    return (msgspec.json.encode(value, order="sorted"),) if isinstance(value, dict | list) else value
