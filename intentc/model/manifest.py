"""Converts Kubernetes manifests to resources and back: identity from ``metadata``, fields from ``spec``, one version.

People write manifests; after decoding everything has the flat form, which is also the form in etcd::

    {"uuid", "fq_name": [namespace, name], "api_version", "metadata": {"labels"?, "annotations"? …}, field: value …}

``Shape`` is what the schema declares about a kind's manifests; the API server decides what is rejected. Our own mark is
an annotation of the manifest, and stands in the common field ``annotations`` of the flat form. The kind ``manifest``,
an object that a compiler makes in a cluster, is in ``outgoing``.

Functions of values that change none of them.
"""

from __future__ import annotations

import uuid as uuid_module
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from intentc.model import metadata as stored_metadata
from intentc.model.ownership import MARK_KEY
from intentc.model.status import STATUS, STATUS_CLAIMS
from intentc.model.values import without_nulls

DEFAULT_NAMESPACE = "default"
CORE = "core"
"""The group of kinds whose apiVersion has none, such as ``v1``."""

_NAMESPACE = uuid_module.UUID("0d0e7a5e-7f3b-5f0d-9c57-6a1d5b9a4f11")
WHOLE_COPY = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which kubectl repeats the manifest: it adds nothing, and repeats secrets."""

_NO_FIELDS = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
"""The keys at the top of a manifest that are no fields of the resource; others (a Secret's ``data``) are."""

COMMON_PLACES = {
    "uuid": ("metadata", "uid"),
    "fq_name": ("metadata", "name"),
    "api_version": ("apiVersion",),
    "metadata": ("metadata",),
    "annotations": ("metadata", "annotations"),
}
"""Common fields of the flat form → their places in a manifest."""

OF_SERVER = frozenset({"configuration_version", "display_name", "id_perms", "name", "perms2", "stored_version"})
"""Common fields of the flat form that a manifest has no place for."""

_ONLY_IN_MANIFESTS = ("name", "namespace", "uid")
"""What ``metadata`` has in a manifest only: the flat form has it as ``fq_name`` and ``uuid``."""

Steps = tuple[str | int, ...]
Moves = Mapping[str, str | None]
"""Where the fields of a version stand in the present form: old path → new path, dots between names; None: dropped."""


class Conversion(NamedTuple):
    """How the fields of another version become those of the stored one, and back: pure functions of plain JSON, which
    don't change what they get."""

    to_stored: Callable[[dict[str, Any]], dict[str, Any]]
    from_stored: Callable[[dict[str, Any]], dict[str, Any]]


class Shape(NamedTuple):
    """How people write resources of one kind as manifests. ``kind``: the manifest's, such as ``TLSContext``. ``group``:
    such as ``getambassador.io``, or ``core``. ``cluster_scoped``: whether they have no namespace. ``versions``:
    apiVersion → where its fields moved, paths under ``spec``; the first is the stored one; none: any is taken.
    ``without_spec``: whether the fields stand at the top of the manifest, as a Secret's. ``plural``: the name in URLs.
    ``conversions``: apiVersion → what else, after the moves, brings its fields to the stored version."""

    kind: str
    group: str = CORE
    cluster_scoped: bool = False
    versions: Mapping[str, Moves] = {}
    without_spec: bool = False
    plural: str = ""
    conversions: Mapping[str, Conversion] = {}

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups under which the kind is known: that of each version."""
        return tuple(dict.fromkeys(group_of(version) for version in self.versions)) or (self.group,)

    @property
    def preferred(self) -> str:
        """The apiVersion in which a resource is shown that names none."""
        return next(iter(self.versions), "v1" if self.group == CORE else f"{self.group}/v1")


def group_of(api_version: str) -> str:
    """The group of an apiVersion: ``core`` for ``v1``."""
    return api_version.rpartition("/")[0] or CORE


def is_manifest(value: Any) -> bool:
    """Whether a resource as JSON is a manifest, and not the flat form, whole or in part."""
    if not isinstance(value, dict) or "fq_name" in value:
        return False
    metadata = value.get("metadata")
    return "apiVersion" in value or (isinstance(metadata, dict) and "name" in metadata)


def is_half_manifest(value: Mapping[str, Any]) -> bool:
    """Whether a flat form has keys that only manifests have."""
    metadata = value.get("metadata")
    inner = metadata if isinstance(metadata, dict) else {}
    return "apiVersion" in value or "spec" in value or any(key in inner for key in _ONLY_IN_MANIFESTS)


def manifest_identity(manifest: Mapping[str, Any], *, cluster_scoped: bool = False) -> tuple[str, ...]:
    """(namespace, name), or (name,) of a kind without namespaces; the namespace of a manifest without one is
    ``default``."""
    metadata = manifest.get("metadata") or {}
    name = str(metadata.get("name") or "")
    return (name,) if cluster_scoped else (str(metadata.get("namespace") or DEFAULT_NAMESPACE), name)


def manifest_uuid(kind: str, fq_name: Sequence[str]) -> str:
    """The uuid of a resource whose manifest has no ``metadata.uid``: derived from kind, namespace and name, the same
    every time."""
    return str(uuid_module.uuid5(_NAMESPACE, "\0".join((kind, *fq_name))))


def flattened(manifest: Mapping[str, Any], shape: Shape, *, keep_whole_copy: bool = False) -> dict[str, Any]:
    """The flat form of a manifest; ``uuid`` only if it has a ``metadata.uid``, ``metadata`` if any of it is stored.

    ``keep_whole_copy``: keep the annotation in which kubectl repeats the manifest. Raises ``msgspec.ValidationError``
    for an apiVersion that is not declared, a manifest without a name, a field that
    stands at the top and in ``spec``, and one that is called as a common field.
    """
    manifest = without_nulls(manifest)
    version = str(manifest.get("apiVersion", ""))
    if shape.versions and version not in shape.versions:
        raise msgspec.ValidationError(unknown_version(shape, version))
    metadata = _mapping(manifest, "metadata")
    if not metadata.get("name"):
        raise msgspec.ValidationError("metadata.name is missing")
    spec = dict(_mapping(manifest, "spec"))
    for old, new in shape.versions.get(version, {}).items():
        move_field(spec, old, new)
    fields = {field: value for field, value in manifest.items() if field not in _NO_FIELDS}
    for field in sorted(fields.keys() & spec.keys()):
        raise msgspec.ValidationError(f"{field} stands at the top and in spec; keep one of them")
    if version in shape.conversions:
        spec, fields = shape.conversions[version].to_stored({**fields, **spec}), {}
    for field in sorted((fields.keys() | spec.keys()) & COMMON_PLACES.keys()):
        raise msgspec.ValidationError(f"{field} stands in metadata, and is no field of the resource itself")
    name = list(manifest_identity(manifest, cluster_scoped=shape.cluster_scoped))
    flat = {**fields, **spec, "fq_name": name, "api_version": version}
    if metadata.get("uid"):
        flat["uuid"] = str(metadata["uid"])
    kept = {field: metadata[field] for field in stored_metadata.FIELDS if metadata.get(field)}
    notes = _mapping(metadata, "annotations")
    others = {key: value for key, value in notes.items() if key != MARK_KEY and (keep_whole_copy or key != WHOLE_COPY)}
    kept.pop("annotations", None)
    if others:
        kept["annotations"] = others
    if kept:
        flat["metadata"] = kept
    if MARK_KEY in notes:
        flat["annotations"] = {"key_value_pair": [{"key": MARK_KEY, "value": notes[MARK_KEY]}]}
    return flat


def manifest_of(flat: Mapping[str, Any], shape: Shape, version: str = "") -> dict[str, Any]:
    """The manifest of a resource in its flat form: the inverse of ``flattened``, as plain JSON.

    ``version``: a declared apiVersion; by default the one in which the resource was written. What only our server knows
    (``id_perms`` …) has no place in it. Raises ``msgspec.ValidationError`` for an apiVersion that is not declared.
    """
    written = str(flat.get("api_version") or "")
    if shape.versions and written not in shape.versions:
        # A version that was dropped after ``intentc migrate``.
        written = ""
    version = version or written or shape.preferred
    if shape.versions and version not in shape.versions:
        raise msgspec.ValidationError(unknown_version(shape, version))
    fields = {
        field: copied(value)
        for field, value in flat.items()
        if field not in COMMON_PLACES and field not in OF_SERVER and field not in (STATUS, STATUS_CLAIMS)
    }
    if version in shape.conversions:
        fields = shape.conversions[version].from_stored(fields)
    for old, new in reversed(list(shape.versions.get(version, {}).items())):
        if new is not None:
            move_field(fields, new, old, back=True)
    name: dict[str, Any] = {"name": flat["fq_name"][-1]}
    if not shape.cluster_scoped:
        name["namespace"] = flat["fq_name"][0]
    if flat.get("uuid"):
        name["uid"] = flat["uuid"]
    metadata = {**name, **copied(flat.get("metadata") or {})}
    metadata.pop("mirrored", None)
    pairs = (flat.get("annotations") or {}).get("key_value_pair") or ()
    if pairs:
        metadata["annotations"] = {**metadata.get("annotations", {}), **{one["key"]: one["value"] for one in pairs}}
    manifest: dict[str, Any] = {"apiVersion": version, "kind": shape.kind, "metadata": metadata}
    if shape.without_spec:
        manifest |= fields
    elif fields:
        manifest["spec"] = fields
    if flat.get("status"):
        manifest["status"] = copied(flat["status"])
    return manifest


def unknown_version(shape: Shape, version: str) -> str:
    """What to say about an apiVersion that ``shape`` lacks."""
    known = ", ".join(shape.versions)
    if group_of(version) not in shape.groups:
        groups = " or ".join(shape.groups)
        return f"{shape.kind} of group {group_of(version)!r} is not known; {shape.kind} is of {groups}: give {known}"
    return f"apiVersion {version!r} is not known; there are {known}"


def place_in_manifest(manifest: Mapping[str, Any], moves: Moves, field: Steps) -> Steps:
    """Where a field of the flat form, given by its steps, stands in its manifest. ``moves``: those of its version."""
    if not field:
        return ()
    first, rest = str(field[0]), field[1:]
    if first in COMMON_PLACES:
        return (*COMMON_PLACES[first], *(() if first in ("uuid", "fq_name") else rest))
    for old, new in moves.items():
        target, source = tuple((new or "").split(".")), tuple(old.split("."))
        if field[: len(target)] == target and _has(manifest.get("spec"), source):
            return ("spec", *source, *field[len(target) :])
    return field if first in manifest and first not in _NO_FIELDS else ("spec", *field)


def _has(value: Any, path: tuple[str, ...]) -> bool:
    for step in path:
        if not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True


def _mapping(holder: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    """A field that is an object or missing."""
    value = holder.get(field, {})
    if not isinstance(value, dict):
        raise msgspec.ValidationError(f"{field}: Expected `object`, got `{type(value).__name__}`")
    return value


def copied(value: Any) -> Any:
    """Plain JSON that shares nothing with ``value``."""
    if isinstance(value, Mapping):
        return {key: copied(inner) for key, inner in value.items()}
    return [copied(inner) for inner in value] if isinstance(value, list | tuple) else value


def move_field(spec: dict[str, Any], source: str, place: str | None, *, back: bool = False) -> None:
    """Move what stands at ``source`` to ``place``, in place; None drops it. ``back``: to an older version, so that no
    emptied object stays."""
    old, new = source.split("."), place.split(".") if place else None
    holders: list[Any] = [spec]
    for part in old[:-1]:
        holders.append(holders[-1].get(part))
        if not isinstance(holders[-1], dict):
            return
    if old[-1] not in holders[-1]:
        return
    value = holders[-1].pop(old[-1])
    for depth in range(len(holders) - 1, 0, -1):
        if back and not holders[depth]:
            del holders[depth - 1][old[depth - 1]]
    if new is None:
        return
    target = spec
    for part in new[:-1]:
        target = target.setdefault(part, {})
        if not isinstance(target, dict):
            raise msgspec.ValidationError(f"{part}: Expected `object`, got `{type(target).__name__}`")
    target.setdefault(new[-1], value)
